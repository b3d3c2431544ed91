// Measures the peak performance of this machine as a reference for benchmarks.
#pragma once

#include <cstddef>

#include "weft/core/dtype.h"

namespace WEFT_API weft {
namespace kernels {

/// The amount of work and the duration of a run of fused multiply-adds.
struct FmaRun {
  double flop = 0;            // a multiply-add counts as two
  double seconds = 0;         // wall time
  double thread_seconds = 0;  // CPU time of the calling thread
};
/// Runs independent chains of fused multiply-adds with the widest vectors on the calling thread for
/// about `seconds` of wall time. `dtype` is f32 or f64.
FmaRun run_fma_chains(DType dtype, double seconds);

/// The number of products of bytes and the duration of a run of the fastest integer unit.
struct IntegerRun {
  double products = 0;
  double seconds = 0;  // wall time
};
/// Runs independent chains of integer_unit() (integer/integer_product.h) on the calling thread for
/// about `seconds` of wall time.
IntegerRun run_integer_chains(double seconds);

/// Reads `bytes` bytes at `data` (aligned to 64) once, on the calling thread.
void read_memory(const void* data, std::size_t bytes);

}  // namespace kernels
}  // namespace weft

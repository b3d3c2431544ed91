// The limit of this CPU's fused multiply-adds, measured.
#pragma once

#include "weft/core/dtype.h"

namespace weft::bench {

/// Floating-point operations per second of one core that does nothing but independent chains of
/// fused multiply-adds in its widest vectors: the best of several tries of some milliseconds each,
/// in the calling thread's own CPU time. `dtype` is f32 or f64.
double measure_fma_peak(DType dtype);

}  // namespace weft::bench

// What this machine can do at most, measured: the yardstick of benchmarks.
#pragma once

#include <cstddef>

namespace weft::kernels {

/// Runs independent chains of fused multiply-adds on the widest float vectors, on the calling
/// thread, for about `seconds`; returns FLOP/s (a multiply-add counts as two).
double measure_fma_rate(double seconds);

/// Reads `bytes` bytes at `data` (aligned to 64) `times` times on the calling thread, one after the
/// other; returns the bytes per second of the fastest pass.
double measure_read_rate(const void* data, std::size_t bytes, int times);

}  // namespace weft::kernels

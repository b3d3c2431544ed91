// Peaks of this machine, on as many threads as a benchmark uses.
#pragma once

#include <cstddef>

namespace weft::program {

/// Float32 FLOP/s that fused multiply-adds reach on `threads` threads together.
double fma_peak(int threads);
/// Bytes per second that `threads` threads together read from `bytes` bytes of memory.
double read_bandwidth(int threads, std::size_t bytes);
/// Most resident memory of this process so far.
std::size_t peak_rss_bytes();

}  // namespace weft::program

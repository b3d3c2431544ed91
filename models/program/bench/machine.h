// Peak FLOP/s and memory bandwidth of this machine for a given number of threads.
#pragma once

#include <cstddef>
#include <memory>

#include "weft/core/tensor.h"

namespace weft::program {

/// Returns the total float32 FLOP/s of fused multiply-adds on `threads` threads.
double fma_peak(int threads);

/// Returns the total number of products of bytes per second on `threads` threads, with the fastest
/// integer instructions of this CPU.
double integer_peak(int threads);

/// Measures the total bandwidth at which `threads` threads read memory. Each thread reads a
/// separate part.
class ReadBandwidth {
 public:
  ReadBandwidth(int threads, std::size_t bytes);
  /// Returns the bandwidth in bytes per second, as the median of several passes over all of the
  /// memory.
  double measure() const;

 private:
  int threads_;
  std::size_t share_;
  std::shared_ptr<Buffer> buffer_;
};

/// Returns the peak resident memory of this process so far.
std::size_t peak_rss_bytes();

}  // namespace weft::program

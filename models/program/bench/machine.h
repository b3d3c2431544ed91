// Peak compute and memory rates of this machine, for the number of threads of a benchmark.
#pragma once

#include <cstddef>
#include <memory>

#include "weft/core/tensor.h"

namespace weft::program {

/// Returns the float32 FLOP/s that fused multiply-adds reach on `threads` threads together.
double fma_peak(int threads);

/// Measures the bandwidth at which `threads` threads read memory together, each of them its own
/// share.
class ReadBandwidth {
 public:
  ReadBandwidth(int threads, std::size_t bytes);
  /// Returns bytes per second: the median of several passes over all of the memory.
  double measure() const;

 private:
  int threads_;
  std::size_t share_;
  std::shared_ptr<Buffer> buffer_;
};

/// Returns the peak resident memory of this process so far.
std::size_t peak_rss_bytes();

}  // namespace weft::program

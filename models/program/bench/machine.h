// Peaks of this machine, on as many threads as a benchmark uses.
#pragma once

#include <cstddef>
#include <memory>

#include "weft/core/tensor.h"

namespace weft::program {

/// Float32 FLOP/s that fused multiply-adds reach on `threads` threads together.
double fma_peak(int threads);

/// Memory that `threads` threads read together, a share each.
class ReadBandwidth {
 public:
  ReadBandwidth(int threads, std::size_t bytes);
  /// Bytes per second, the middle of some passes over all of it.
  double measure() const;

 private:
  int threads_;
  std::size_t share_;
  std::shared_ptr<Buffer> buffer_;
};

/// Most resident memory of this process so far.
std::size_t peak_rss_bytes();

}  // namespace weft::program

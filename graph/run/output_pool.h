// Memory of output tensors, used again when the caller has dropped them.
#pragma once

#include <memory>
#include <vector>

#include "weft/core/tensor.h"

namespace weft {

/// Knows buffers of at most twice the bytes of the largest run, so that a loop which still holds
/// the outputs of the run before allocates nothing. What it forgets lives as long as the caller
/// holds it.
class OutputPool {
 public:
  /// Says that a run is about to take `bytes` bytes in all.
  void begin_run(std::size_t bytes);
  /// Memory of exactly `bytes` bytes that nobody else holds.
  std::shared_ptr<Buffer> take(std::size_t bytes);
  /// Bytes of all buffers that it knows.
  std::size_t bytes() const { return bytes_; }

 private:
  std::vector<std::shared_ptr<Buffer>> buffers_;  // in use or idle, the longest not taken first
  std::size_t bytes_ = 0;
  std::size_t most_ = 0;  // bytes to know
};

}  // namespace weft

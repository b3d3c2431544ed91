// Memory for output tensors, reused when the caller has released them.
#pragma once

#include <memory>
#include <vector>

#include "weft/core/tensor.h"

namespace weft {

/// Tracks buffers with a total size of at most twice the output bytes of the largest run, so that
/// running in a loop while holding the outputs of the previous run allocates nothing. A buffer that
/// is no longer tracked is freed when the caller releases it.
class OutputPool {
 public:
  /// Call this before a run that will take `bytes` bytes in total.
  void begin_run(std::size_t bytes);
  /// Returns memory of exactly `bytes` bytes that has no other owner.
  std::shared_ptr<Buffer> take(std::size_t bytes);
  /// Bytes of all tracked buffers.
  std::size_t bytes() const { return bytes_; }

 private:
  std::vector<std::shared_ptr<Buffer>> buffers_;  // in use or idle, least recently taken first
  std::size_t bytes_ = 0;
  std::size_t most_ = 0;  // maximum of bytes_
};

}  // namespace weft

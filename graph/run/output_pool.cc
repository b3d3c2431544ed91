#include "weft/graph/run/output_pool.h"

#include <algorithm>

#include "weft/graph/run/variable_store.h"

namespace weft {
namespace {
constexpr std::size_t kMostBuffers = 64;
}

std::shared_ptr<Buffer> OutputPool::take(std::size_t bytes) {
  for (const auto& buffer : buffers_) {
    if (buffer->bytes() == bytes && sole_owner(buffer)) return buffer;
  }
  if (buffers_.size() >= kMostBuffers) {
    // The oldest goes; if somebody still holds it, it merely is not used again.
    buffers_.erase(buffers_.begin());
  }
  buffers_.push_back(Buffer::allocate(bytes));
  return buffers_.back();
}

}  // namespace weft

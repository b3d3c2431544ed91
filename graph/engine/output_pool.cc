#include "weft/graph/engine/output_pool.h"

#include <algorithm>

#include "weft/graph/engine/variable_store.h"

namespace weft {
namespace {

// Limits the run time of take(), which scans all buffers. Memory is limited separately, in bytes.
constexpr std::size_t kMaxBuffers = 256;

}  // namespace

void OutputPool::begin_run(std::size_t bytes) { most_ = std::max(most_, 2 * bytes); }

std::shared_ptr<Buffer> OutputPool::take(std::size_t bytes) {
  for (auto it = buffers_.begin(); it != buffers_.end(); ++it) {
    if ((*it)->bytes() != bytes || !sole_owner(*it)) continue;
    std::rotate(it, it + 1, buffers_.end());
    return buffers_.back();
  }
  // Frees before allocating, so that old and new buffers need not fit in memory together.
  std::size_t gone = 0;
  while (gone < buffers_.size() &&
         (bytes_ + bytes > most_ || buffers_.size() - gone >= kMaxBuffers)) {
    bytes_ -= buffers_[gone++]->bytes();
  }
  buffers_.erase(buffers_.begin(), buffers_.begin() + static_cast<std::ptrdiff_t>(gone));
  auto made = Buffer::allocate(bytes);
  if (bytes_ + bytes > most_) return made;
  buffers_.push_back(made);
  bytes_ += bytes;
  return made;
}

}  // namespace weft

#include "weft/graph/distributed/sum_block.h"

#include "weft/graph/engine/parallel_copy.h"

namespace weft {

void SumStack::begin(Subtree next) {
  merges_ = static_cast<std::size_t>(tree_.push(next));
  if (merges_ == 0) blocks_.push_back(context_.memory(bytes_));
}

void SumStack::add(std::size_t place, std::size_t begin, std::span<const std::byte> part) {
  const auto part_of = [&](std::size_t block) { return bytes(block).subspan(place, part.size()); };
  if (merges_ == 0) {
    parallel_copy(part_of(blocks_.size() - 1).data(), part.data(), part.size(), context_.workers);
    return;
  }
  for (std::size_t i = 1; i <= merges_; ++i) {
    const std::span<std::byte> lower = part_of(blocks_.size() - i);
    layout_.add(begin, lower, part, context_.workers);
    part = lower;
  }
}

void SumStack::end() {
  for (; merges_ > 1; --merges_) blocks_.pop_back();
  merges_ = 0;
}

}  // namespace weft

// Accumulation of a stage's sums over shards on one rank.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "weft/core/world/shard_tree.h"
#include "weft/graph/distributed/sum_context.h"
#include "weft/graph/distributed/sum_layout.h"

namespace weft {

/// A stack of blocks of sums, combined like the digits of a binary counter (TreeFold): a new block
/// is either pushed or added to the topmost blocks, which are merged into one.
class SumStack {
 public:
  SumStack(const SumLayout& layout, std::size_t bytes, const SumContext& context)
      : layout_(layout), bytes_(bytes), context_(context) {}

  /// Must be called before the next block arrives.
  void begin(Subtree next);
  /// Adds a part of the block. The part begins at byte `place` of the block and at byte `begin` of
  /// the layout.
  void add(std::size_t place, std::size_t begin, std::span<const std::byte> part);
  /// Must be called after the block has arrived.
  void end();

  /// Returns the number of blocks on the stack. While a block is arriving, returns the number after
  /// its arrival.
  std::size_t size() const { return tree_.stack().size(); }
  const Subtree& subtree(std::size_t i) const { return tree_.stack()[i]; }
  const std::shared_ptr<Buffer>& block(std::size_t i) const { return blocks_[i]; }
  std::span<std::byte> bytes(std::size_t i) const { return {blocks_[i]->data(), bytes_}; }

 private:
  const SumLayout& layout_;
  const std::size_t bytes_;
  const SumContext& context_;
  TreeFold tree_;
  std::vector<std::shared_ptr<Buffer>> blocks_;
  std::size_t merges_ = 0;  // number of topmost blocks to which the arriving block is added
};

/// Returns the function that adds sums of this layout (AddSums).
inline auto adder_of(const SumLayout& layout, Workers& workers) {
  return [&layout, &workers](std::size_t begin, std::span<std::byte> into,
                             std::span<const std::byte> x) { layout.add(begin, into, x, workers); };
}

}  // namespace weft

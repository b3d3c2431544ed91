// Some of a stage's sums over shards, on one rank.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "weft/graph/run/shard_runner.h"
#include "weft/graph/run/sum_layout.h"

namespace weft {

/// Sums by number.
using SumNumbers = std::vector<std::size_t>;

/// Which sums these are, and where each lies: one behind the other in memory.
class SumPlaces {
 public:
  SumPlaces(const ShardedProgram::Stage& stage, SumNumbers sums);

  bool empty() const { return sums_.empty(); }
  const SumNumbers& sums() const { return sums_; }
  const SumLayout& layout() const { return layout_; }
  /// Whether sum `i` of the stage is one of these, and which.
  bool has(std::size_t i) const { return places_.contains(i); }
  std::size_t place_of(std::size_t i) const { return places_.at(i); }

 private:
  SumNumbers sums_;
  std::unordered_map<std::size_t, std::size_t> places_;
  SumLayout layout_;
};

/// Blocks of such sums as a binary counter counts (TreeFold): a new one waits, or is added to those
/// on top, which become one.
class SumStack {
 public:
  SumStack(const SumLayout& layout, std::size_t bytes, const PartRunner& runner)
      : layout_(layout), bytes_(bytes), runner_(runner) {}

  /// The next block is about to come.
  void begin(Subtree next);
  /// A part of it, `place` bytes from the block's begin and `begin` bytes from that of the layout.
  void add(std::size_t place, std::size_t begin, std::span<const std::byte> part);
  /// It has come.
  void end();

  /// The blocks that are left; while one comes, those that will be.
  std::size_t size() const { return tree_.stack().size(); }
  const Subtree& subtree(std::size_t i) const { return tree_.stack()[i]; }
  const std::shared_ptr<Buffer>& block(std::size_t i) const { return blocks_[i]; }
  std::span<std::byte> bytes(std::size_t i) const { return {blocks_[i]->data(), bytes_}; }
  /// The topmost blocks, to which the one that comes is added: how many, and the one for the
  /// `k`-th addition.
  std::size_t merges() const { return merges_; }
  std::span<const std::byte> merged(std::size_t k) const { return bytes(blocks_.size() - 1 - k); }

 private:
  const SumLayout& layout_;
  const std::size_t bytes_;
  const PartRunner& runner_;
  TreeFold tree_;
  std::vector<std::shared_ptr<Buffer>> blocks_;
  std::size_t merges_ = 0;
};

/// What adds sums of such a layout.
inline auto adder_of(const SumLayout& layout, Workers& workers) {
  return [&layout, &workers](std::size_t begin, std::span<std::byte> into,
                             std::span<const std::byte> x) { layout.add(begin, into, x, workers); };
}

}  // namespace weft

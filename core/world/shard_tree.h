// The tree along which the shards of a batch are added up.
#pragma once

#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A complete subtree of the binary tree over shards: those from `first` on, `count` many. `count`
/// is a power of two, `first` a multiple of it.
struct Subtree {
  int first = 0;
  int count = 1;
  int end() const { return first + count; }
  friend bool operator==(const Subtree&, const Subtree&) = default;
};

/// Shards of a rank: `begin`, `begin + step` and so on, below `end`.
struct ShardRun {
  int begin = 0;
  int end = 0;
  int step = 1;
  int size() const { return (end - begin + step - 1) / step; }
  int shard(int i) const { return begin + i * step; }
};

/// Throws ArgumentError unless `shards` is a power of two, from 1 to 2^20, and not below `ranks`.
void check_shards(int shards, int ranks);

/// The neighbouring shards that a rank computes: sizes differ by one at most, and their order is
/// that of the ranks.
ShardRun run_of_rank(int rank, int ranks, int shards);

/// The shards that a rank computes where ranks take turns: every `ranks`-th one. So all ranks
/// together have a complete subtree of shards after each turn. `ranks` is a power of two.
ShardRun turns_of_rank(int rank, int ranks, int shards);

/// Sums over shards along the complete binary tree over their numbers, whoever computes them: (s0 +
/// s1) + (s2 + s3). A rank folds its shards, or an owner the sums of all ranks, from left to right,
/// as a binary counter counts: what comes is pushed upon a stack, and as long as the two topmost
/// are siblings in the tree, their sum (lower one first) takes their place.
class TreeFold {
 public:
  /// Says how many of the stack's entries the pushed one is added to, from the top down: 0 where it
  /// stays alone. It must begin where the last one ended.
  int push(Subtree next);
  /// The entries, in order: the sums that are left. At most 2 log2(n) of n shards, log2(n) + 1
  /// where the first shard is 0.
  const std::vector<Subtree>& stack() const { return stack_; }

 private:
  std::vector<Subtree> stack_;
};

/// The most entries that the stack has at a time while neighbouring shards are pushed. A shard that
/// is added to those before it as it comes is no entry of its own.
int most_sums(const ShardRun& run);

/// What is left on the stack after all of a run of neighbours: the fewest complete subtrees that
/// cover it.
std::vector<Subtree> subtrees_of(const ShardRun& run);

}  // namespace weft

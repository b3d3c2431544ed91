// The binary tree along which the shards of a batch are summed.
#pragma once

#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A complete subtree of the binary tree over shards: the `count` shards from `first` on. `count`
/// is a power of two, and `first` is a multiple of it.
struct Subtree {
  int first = 0;
  int count = 1;
  int end() const { return first + count; }
  friend bool operator==(const Subtree&, const Subtree&) = default;
};

/// The shards of a rank: `begin`, `begin + step` and so on, below `end`.
struct ShardRun {
  int begin = 0;
  int end = 0;
  int step = 1;
  int size() const { return (end - begin + step - 1) / step; }
  int shard(int i) const { return begin + i * step; }
};

/// Throws ArgumentError unless `shards` is a power of two, from 1 to 2^20, and at least `ranks`.
void check_shards(int shards, int ranks);

/// Returns the consecutive shards that a rank computes. Shards are assigned in rank order, and the
/// numbers of shards of any two ranks differ by at most one.
ShardRun contiguous_shards(int rank, int ranks, int shards);

/// Returns the shards that a rank computes if shards are interleaved over the ranks: every
/// `ranks`-th one. After each round, all ranks together have computed a complete subtree of shards.
/// `ranks` is a power of two.
ShardRun interleaved_shards(int rank, int ranks, int shards);

/// Plans sums along the complete binary tree over shard numbers, regardless of which rank computes
/// them: (s0 + s1) + (s2 + s3). A rank folds its shards, and an owner folds the sums of all ranks,
/// from left to right, like a binary counter: each new sum is pushed onto a stack, and as long as
/// the two topmost entries are siblings in the tree, they are replaced by their sum (lower one
/// first).
class TreeFold {
 public:
  /// Pushes a subtree, which must begin at the end of the previous one. Returns the number of stack
  /// entries, from the top down, that it must be added to; 0 if it becomes a new entry.
  int push(Subtree next);
  /// The remaining sums, in order. At most 2 log2(n) entries for n shards, or log2(n) + 1 if the
  /// first shard is 0.
  const std::vector<Subtree>& stack() const { return stack_; }

 private:
  std::vector<Subtree> stack_;
};

/// Returns the maximum number of stack entries while the shards of a consecutive run are pushed. A
/// shard that is added to its predecessors immediately does not count as an entry.
int max_live_sums(const ShardRun& run);

/// Returns the stack after all shards of a consecutive run: the smallest set of complete subtrees
/// that covers it.
std::vector<Subtree> subtrees_of(const ShardRun& run);

}  // namespace weft

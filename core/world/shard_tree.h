// The binary tree that defines the order in which the shards of a batch are summed.
#pragma once

#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A complete subtree of the binary tree over shards: the `count` shards starting with `first`.
/// `count` is a power of two, and `first` is a multiple of `count`.
struct Subtree {
  int first = 0;
  int count = 1;
  int end() const { return first + count; }
  friend bool operator==(const Subtree&, const Subtree&) = default;
};

/// The shards that a rank computes: `begin`, `begin + step` and so on, up to but excluding `end`.
struct ShardRun {
  int begin = 0;
  int end = 0;
  int step = 1;
  int size() const { return (end - begin + step - 1) / step; }
  int shard(int i) const { return begin + i * step; }
};

/// Throws ArgumentError unless `shards` is a power of two from 1 to 2^20 and at least `ranks`.
void check_shards(int shards, int ranks);

/// Returns the shards that a rank computes if shards are assigned consecutively, in rank order. The
/// number of shards per rank differs by at most one between ranks.
ShardRun contiguous_shards(int rank, int ranks, int shards);

/// Returns the shards that a rank computes if shards are interleaved over the ranks, so that each
/// rank computes every `ranks`-th shard. After each round, all ranks together have computed a
/// complete subtree of shards. `ranks` must be a power of two.
ShardRun interleaved_shards(int rank, int ranks, int shards);

/// Plans sums along the complete binary tree over shard numbers, for example (s0 + s1) + (s2 + s3),
/// regardless of which rank computes them. Each rank folds its shards, and each owner folds the
/// sums of all ranks, from left to right like a binary counter. Each new sum is pushed onto a
/// stack. While the two topmost entries are siblings in the tree, they are replaced by their sum,
/// in which the lower entry is the first operand.
class TreeFold {
 public:
  /// Pushes a subtree, which must start with the shard after the end of the previous subtree.
  /// Returns the number of stack entries, from the top down, to which it must be added, or 0 if it
  /// becomes a new entry.
  int push(Subtree next);
  /// Returns the remaining sums, in order. For n shards, there are at most 2 log2(n) entries, or
  /// log2(n) + 1 if the first shard is 0.
  const std::vector<Subtree>& stack() const { return stack_; }

 private:
  std::vector<Subtree> stack_;
};

/// Returns the maximum number of stack entries while the shards of a consecutive run are pushed. A
/// shard that is added to existing entries immediately does not count as an entry.
int max_live_sums(const ShardRun& run);

/// Returns the stack after all shards of a consecutive run have been pushed, which is the smallest
/// set of complete subtrees that covers the run.
std::vector<Subtree> subtrees_of(const ShardRun& run);

}  // namespace weft

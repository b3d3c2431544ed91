#include "weft/core/world/shard_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "weft/core/error.h"

namespace weft {
namespace {

constexpr int kMaxShardCount = 1 << 20;

// Returns true if the two subtrees have the same parent in the tree.
bool siblings(const Subtree& left, const Subtree& right) {
  return left.count == right.count && left.end() == right.first &&
         left.first % (2 * left.count) == 0;
}

}  // namespace

void check_shards(int shards, int ranks) {
  if (shards < 1 || shards > kMaxShardCount || (shards & (shards - 1)) != 0) {
    throw ArgumentError(
        fmt::format("shards must be a power of two in [1, {}], not {}", kMaxShardCount, shards));
  }
  if (ranks > shards) {
    throw ArgumentError(fmt::format(
        "{} ranks are too many for {} shards: start no more ranks than there are shards", ranks,
        shards));
  }
}

ShardRun contiguous_shards(int rank, int ranks, int shards) {
  const auto begin = [&](int r) { return static_cast<int>(std::int64_t{shards} * r / ranks); };
  return {begin(rank), begin(rank + 1)};
}

ShardRun interleaved_shards(int rank, int ranks, int shards) { return {rank, shards, ranks}; }

int TreeFold::push(Subtree next) {
  if (!stack_.empty() && stack_.back().end() != next.first) {
    throw ArgumentError(fmt::format("shard {} cannot follow shard {} in a sum", next.first,
                                    stack_.back().end() - 1));
  }
  int merged = 0;
  while (!stack_.empty() && siblings(stack_.back(), next)) {
    next = {stack_.back().first, 2 * next.count};
    stack_.pop_back();
    ++merged;
  }
  stack_.push_back(next);
  return merged;
}

int max_live_sums(const ShardRun& run) {
  TreeFold fold;
  std::size_t most = 0;
  for (int s = run.begin; s < run.end; ++s) {
    fold.push({s, 1});
    most = std::max(most, fold.stack().size());
  }
  return static_cast<int>(most);
}

std::vector<Subtree> subtrees_of(const ShardRun& run) {
  TreeFold fold;
  for (int s = run.begin; s < run.end; ++s) fold.push({s, 1});
  return fold.stack();
}

}  // namespace weft

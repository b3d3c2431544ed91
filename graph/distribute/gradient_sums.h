// Placement of gradient sums across ranks (ZeRO-1 or ZeRO-2).
#pragma once

#include <cstdint>

#include "weft/core/export.h"
#include "weft/core/world/shard_tree.h"

namespace WEFT_API weft {

/// Where several ranks store the sums of gradients over their shards. Bits do not depend on it.
enum class GradientSums : std::uint8_t {
  /// `owned` with a SessionOptions::memory_budget and a power-of-two number of ranks, `whole`
  /// otherwise.
  automatic,
  /// Each rank sums the gradients of its own shards and sends each owner its part of the sums once
  /// per step (ZeRO-1). For G shards on W ranks, a rank stores log2(G / W) times the bytes of the
  /// gradients, at least once, plus the parts that it receives as an owner.
  whole,
  /// Each rank sends the owners their part of every shard's gradients as soon as it is complete
  /// (ZeRO-2). A rank stores log2(G / W) / W times the bytes of the gradients, at least 1 / W, plus
  /// the buckets in transit (kMaxOpenBuckets), but sends G / W times the number of messages. Ranks
  /// take turns in computing shards. Requires a power-of-two number of ranks.
  owned,
};

/// Maximum number of buckets in transit if the sums are owned: sent and, for the rank's own part,
/// received from every other rank.
constexpr int kMostOpenBuckets = 8;

/// Returns true if `sums` means owned sums; `budget` is true if there is a memory budget. Throws
/// ArgumentError if `sums` does not support this number of ranks.
bool sums_are_owned(GradientSums sums, bool budget, int ranks);

/// Returns the shards that a rank computes. If the sums are owned, the ranks take turns.
ShardRun shards_of_rank(int rank, int ranks, int shards, bool sums_owned);

}  // namespace weft

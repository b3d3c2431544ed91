// Placement of gradient sums across ranks (ZeRO-1 or ZeRO-2).
#pragma once

#include <cstdint>

#include "weft/core/export.h"
#include "weft/core/world/shard_tree.h"

namespace WEFT_API weft {

/// How the gradient sums over shards are distributed across ranks. Results are bit-identical for
/// all choices.
enum class GradientSums : std::uint8_t {
  /// `owned` with a SessionOptions::memory_budget and a power-of-two number of ranks, `whole`
  /// otherwise.
  automatic,
  /// Each rank sums the gradients of the shards that it computes and, once per step, sends each
  /// owner the owner's part of the sums (ZeRO-1). For G shards on W ranks, a rank stores max(1,
  /// log2(G / W)) times the bytes of the gradients, plus the parts that it receives as an owner.
  whole,
  /// Each rank sends the owners their parts of every shard's gradients as soon as these are
  /// complete (ZeRO-2). A rank stores max(1, log2(G / W)) / W times the bytes of the gradients,
  /// plus the buckets in transit (kMaxOpenBuckets), but sends G / W times the number of messages.
  /// Ranks take turns in computing shards. Requires a power-of-two number of ranks.
  owned,
};

/// Maximum number of buckets in transit with owned sums. A bucket is in transit while it is being
/// sent to its owner or, on the owner, being received from every other rank.
constexpr int kMaxOpenBuckets = 8;

/// Returns true if `sums` selects owned sums for this number of ranks; `budget` is true if there is
/// a memory budget. Throws ArgumentError if `sums` does not support this number of ranks.
bool sums_are_owned(GradientSums sums, bool budget, int ranks);

/// Returns the shards that a rank computes. If the sums are owned, the ranks take turns.
ShardRun shards_of_rank(int rank, int ranks, int shards, bool sums_owned);

}  // namespace weft

// Where ranks keep sums of gradients.
#pragma once

#include <cstdint>

#include "weft/core/export.h"
#include "weft/core/world/shard_tree.h"

namespace WEFT_API weft {

/// Where several ranks keep the sums of gradients over their shards. The bits are the same.
enum class GradientSums : std::uint8_t {
  /// `owned` where there is a SessionOptions::memory_budget and the ranks are a power of two,
  /// `whole` elsewhere.
  automatic,
  /// Each rank sums up its own shards, and sends each owner its part of the sums once a step
  /// (ZeRO-1): for G shards on W ranks a rank takes log2(G / W) times their bytes, once at least,
  /// and what it receives as an owner.
  whole,
  /// Each rank sends the owners their part of every shard's gradients as soon as it is there
  /// (ZeRO-2): log2(G / W) / W times their bytes, 1 / W at least, and what is under way
  /// (kMostOpenBuckets), but G / W times the messages. Ranks take turns in computing shards. For
  /// numbers of ranks that are a power of two.
  owned,
};

/// Buckets of sums that are on their way at most where the sums are owned: sent and, of the rank's
/// own part, received from every other rank.
constexpr int kMostOpenBuckets = 8;

/// Whether these are owned, with a memory budget or without. Throws ArgumentError where so many
/// ranks cannot do that.
bool sums_are_owned(GradientSums sums, bool budget, int ranks);

/// The shards that a rank computes: where sums are owned the ranks take turns.
ShardRun shards_of_rank(int rank, int ranks, int shards, bool sums_owned);

}  // namespace weft

#include "weft/core/world/gradient_sums.h"

#include <fmt/format.h>

#include <bit>

#include "weft/core/error.h"

namespace weft {

bool sums_are_owned(GradientSums sums, bool budget, int ranks) {
  const bool possible = std::has_single_bit(static_cast<unsigned>(ranks));
  if (sums == GradientSums::automatic) return budget && possible && ranks > 1;
  if (sums == GradientSums::owned && !possible) {
    throw ArgumentError(
        fmt::format("GradientSums::owned requires a power-of-two number of ranks, not {}; "
                    "GradientSums::whole works with any number",
                    ranks));
  }
  return sums == GradientSums::owned && ranks > 1;
}

ShardRun shards_of_rank(int rank, int ranks, int shards, bool sums_owned) {
  return sums_owned ? interleaved_shards(rank, ranks, shards)
                    : contiguous_shards(rank, ranks, shards);
}

}  // namespace weft

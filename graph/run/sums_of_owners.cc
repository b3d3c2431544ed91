#include "weft/graph/run/sums_of_owners.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "weft/core/rounding.h"

namespace weft {

Owners owners_of(const OwnedStep& step, const SumPlaces& places) {
  using Owned = std::pair<const OwnedPiece*, int>;
  std::vector<Owned> owned;
  for (std::size_t r = 0; r < step.pieces.size(); ++r) {
    for (const OwnedPiece& piece : step.pieces[r]) owned.emplace_back(&piece, r);
  }
  std::sort(owned.begin(), owned.end(), [](const Owned& a, const Owned& b) {
    return std::pair(a.first->unit, a.first->begin) < std::pair(b.first->unit, b.first->begin);
  });
  const SumLayout& layout = places.layout();
  Owners owners;
  for (const auto& [piece, rank] : owned) {
    if (!owners.empty() && owners.back().owner == rank) continue;
    const std::size_t sum = places.place_of(step.units[piece->unit].sums[0]);
    const auto before = static_cast<std::size_t>(piece->begin);
    owners.push_back({layout.offset(sum) + before * dtype_size(layout.dtype(sum)), rank});
  }
  return owners;
}

SumBuckets buckets_of(const SumPlaces& places, const PartRunner& runner) {
  constexpr std::size_t kMostBuckets = 4096;  // besides one for every change of the owner
  const std::size_t least =
      round_up(divide_up(places.layout().bytes(), kMostBuckets), kTensorAlignment);
  return {.bytes = std::max(runner.bucket_bytes, least), .first_channel = kFirstBucketChannel};
}

Sizes sizes_of(const OwnedPiece& piece, const SumLayout& layout, std::size_t place) {
  return piece.whole ? layout.sizes(place) : Sizes{piece.end - piece.begin};
}

}  // namespace weft

#include "weft/graph/run/sums_of_owners.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "weft/core/rounding.h"

namespace weft {

Owners owners_of(const OwnedStep& step, const SumPlaces& places) {
  const SumLayout& layout = places.layout();
  Owners all;
  for (std::size_t r = 0; r < step.pieces.size(); ++r) {
    for (const OwnedPiece& piece : step.pieces[r]) {
      for (const std::size_t sum : step.units[piece.unit].sums) {
        const std::size_t i = places.place_of(sum);
        const auto before = static_cast<std::size_t>(piece.begin) * dtype_size(layout.dtype(i));
        if (layout.bytes(i) > 0) all.push_back({layout.offset(i) + before, static_cast<int>(r)});
      }
    }
  }
  std::sort(all.begin(), all.end(),
            [](const OwnedBytes& a, const OwnedBytes& b) { return a.begin < b.begin; });
  Owners owners;
  for (const OwnedBytes& bytes : all) {
    if (owners.empty() || owners.back().owner != bytes.owner) owners.push_back(bytes);
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

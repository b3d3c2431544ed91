#include "weft/graph/distributed/sum_reduce_scatter.h"

#include <algorithm>
#include <vector>

#include "weft/core/rounding.h"

namespace weft {
namespace {

std::size_t begin_of(const OwnedPiece& piece, const SumLayout& layout, std::size_t sum) {
  return layout.offset(sum) + static_cast<std::size_t>(piece.begin) * dtype_size(layout.dtype(sum));
}

}  // namespace

Owners owners_of(const OwnedStep& step, const SumLayout& layout) {
  Owners all;
  for (std::size_t r = 0; r < step.pieces.size(); ++r) {
    for (const OwnedPiece& piece : step.pieces[r]) {
      for (const std::size_t sum : step.units[piece.unit].sums) {
        if (layout.bytes(sum) > 0)
          all.push_back({begin_of(piece, layout, sum), static_cast<int>(r)});
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

SumBuckets buckets_of(const SumLayout& layout, const SumContext& context) {
  // Not counting the additional buckets that begin where the owner changes.
  constexpr std::size_t kMaxBuckets = 4096;
  const std::size_t least = round_up(divide_up(layout.bytes(), kMaxBuckets), kTensorAlignment);
  return {.bytes = std::max(context.bucket_bytes, least), .first_channel = kFirstBucketChannel};
}

std::vector<std::size_t> sums_in_buckets(const TreeReduceScatter& sums, const SumLayout& layout) {
  std::vector<std::size_t> count(sums.buckets());
  for (const std::size_t sum : layout.sums())
    for_buckets(sums, layout, sum, [&](std::size_t bucket) { ++count[bucket]; });
  return count;
}

NamedTensors owned_pieces(const OwnedStep& step, const SumLayout& layout, int rank,
                          const std::shared_ptr<Buffer>& block,
                          FunctionRef<std::size_t(std::size_t byte)> place_of) {
  NamedTensors result;
  for (const OwnedPiece& piece : step.pieces[static_cast<std::size_t>(rank)]) {
    for (const std::size_t sum : step.units[piece.unit].sums) {
      const Sizes sizes = piece.whole ? layout.sizes(sum) : Sizes{piece.end - piece.begin};
      result.emplace_back(
          shard_names::sum(sum),
          Tensor::view(layout.dtype(sum), sizes, block, place_of(begin_of(piece, layout, sum))));
    }
  }
  return result;
}

}  // namespace weft

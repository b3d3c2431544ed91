// Sums over shards that their owners alone need.
#pragma once

#include <cstddef>
#include <memory>

#include "weft/core/world/tree_sum.h"
#include "weft/graph/run/sum_block.h"

namespace weft {

/// What a stage adds up for the owners of `OwnedStep::sums`.
class SumsOfOwners {
 public:
  SumsOfOwners() = default;
  SumsOfOwners(const SumsOfOwners&) = delete;
  SumsOfOwners& operator=(const SumsOfOwners&) = delete;
  virtual ~SumsOfOwners() = default;

  /// A shard of this rank, perhaps the last one, is about to run. `order` is that in which sums
  /// become complete, on all ranks the same.
  virtual void begin(int shard, const SumNumbers& order, bool last) = 0;
  /// A sum of it, as soon as it is there: nobody keeps it.
  virtual void take(std::size_t sum, const Tensor& value) = 0;
  /// What a sum of it nearly is, long before (early_sums.h).
  virtual void take_early(std::size_t sum, const Tensor& value) = 0;
  /// It has run.
  virtual void end() = 0;
  /// After all shards of this rank: the elements that it owns, of the sums of all. Collective.
  virtual NamedTensors totals() = 0;
};

/// What all that make such sums are given; it must outlive them, but for `sums`.
struct SumsWanted {
  const ShardedProgram::Stage& stage;
  SumNumbers sums;
  const OwnedStep& step;
  int shards;
  const PartRunner& runner;
};

/// GradientSums::whole: sums of all shards of this rank, on their way while the last one runs.
std::unique_ptr<SumsOfOwners> make_whole_sums(SumsWanted wanted);
/// GradientSums::owned: those of each shard are on their way while it runs.
std::unique_ptr<SumsOfOwners> make_owned_sums(SumsWanted wanted);

/// Which bytes of the sums each rank owns.
Owners owners_of(const OwnedStep& step, const SumPlaces& places);
/// How they are sent.
SumBuckets buckets_of(const SumPlaces& places, const PartRunner& runner);
/// Calls body(bucket) for those in which sum `place` lies.
template <class F>
void for_buckets(const OwnerSums& sums, const SumLayout& layout, std::size_t place, F&& body) {
  const std::size_t end = layout.offset(place) + layout.bytes(place);
  for (std::size_t b = sums.bucket_of(layout.offset(place));
       b < sums.buckets() && sums.begin_of(b) < end; ++b)
    body(b);
}
/// How many sums lie in each bucket.
std::vector<std::size_t> sums_in_buckets(const OwnerSums& sums, const SumPlaces& places);
/// What this rank owns of the sums, in `block`: place_of(byte) says where a byte of their layout is
/// there.
NamedTensors owned_pieces(const OwnedStep& step, const SumPlaces& places, int rank,
                          const std::shared_ptr<Buffer>& block,
                          FunctionRef<std::size_t(std::size_t byte)> place_of);

}  // namespace weft

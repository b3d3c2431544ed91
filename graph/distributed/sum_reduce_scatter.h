// Reduce-scatter of sums over shards to their owners.
#pragma once

#include <cstddef>
#include <memory>

#include "weft/core/world/tree_sum.h"
#include "weft/graph/distributed/owned_step.h"
#include "weft/graph/distributed/sum_block.h"
#include "weft/graph/engine/results.h"

namespace weft {

/// Accumulates the sums of a stage that only owners need (`OwnedStep::sums`).
class SumReduceScatter {
 public:
  SumReduceScatter() = default;
  SumReduceScatter(const SumReduceScatter&) = delete;
  SumReduceScatter& operator=(const SumReduceScatter&) = delete;
  virtual ~SumReduceScatter() = default;

  /// Must be called before a shard of this rank runs; `last` is true for the last shard. `order` is
  /// the order in which sums become complete, the same on all ranks.
  virtual void begin(int shard, const SumNumbers& order, bool last) = 0;
  /// Adds a sum of the running shard as soon as it is complete. `value` is only valid during the
  /// call.
  virtual void take(std::size_t sum, const Tensor& value) = 0;
  /// Must be called after the shard has run.
  virtual void end() = 0;
  /// Returns this rank's owned elements of the sums over all ranks. Must be called after all shards
  /// of this rank. Collective.
  virtual NamedTensors totals() = 0;
};

/// Arguments of the functions below. Everything except `sums` must outlive the result.
struct SumRequest {
  const ShardedProgram::Stage& stage;
  SumNumbers sums;
  const OwnedStep& step;
  const SumContext& context;
};

/// Implements GradientSums::whole: sums over all shards of this rank are sent while the last shard
/// is running.
std::unique_ptr<SumReduceScatter> make_whole_sums(SumRequest wanted);
/// Implements GradientSums::owned: the sums of each shard are sent while the shard is running.
std::unique_ptr<SumReduceScatter> make_owned_sums(SumRequest wanted);

/// Returns the bytes of the sums that each rank owns.
Owners owners_of(const OwnedStep& step, const SumLayout& layout);
/// Returns the buckets in which the sums are sent.
SumBuckets buckets_of(const SumLayout& layout, const SumContext& context);
/// Calls body(bucket) for each bucket that overlaps a sum.
template <class F>
void for_buckets(const TreeReduceScatter& sums, const SumLayout& layout, std::size_t sum,
                 F&& body) {
  const std::size_t end = layout.offset(sum) + layout.bytes(sum);
  for (std::size_t b = sums.bucket_of(layout.offset(sum));
       b < sums.buckets() && sums.begin_of(b) < end; ++b)
    body(b);
}
/// Returns the number of sums that overlap each bucket.
std::vector<std::size_t> sums_in_buckets(const TreeReduceScatter& sums, const SumLayout& layout);
/// Returns this rank's pieces of the sums, as views of `block`. place_of(byte) returns the position
/// in `block` of a byte of the layout.
NamedTensors owned_pieces(const OwnedStep& step, const SumLayout& layout, int rank,
                          const std::shared_ptr<Buffer>& block,
                          FunctionRef<std::size_t(std::size_t byte)> place_of);

}  // namespace weft

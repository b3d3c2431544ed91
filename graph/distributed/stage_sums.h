// Accumulation of a stage's sums over all shards of all ranks.
#pragma once

#include <memory>
#include <string>

#include "weft/graph/distributed/sum_all_reduce.h"
#include "weft/graph/distributed/sum_reduce_scatter.h"

namespace weft {

/// Accumulates the sums of one stage over this rank's shards, each as soon as it is complete and
/// without storing it separately, and then over all ranks. Sums that all ranks need are reduced
/// after the last shard. Sums that only their owners need (OwnedStep) are sent while shards are
/// still running: during the last shard of this rank or during every shard, depending on
/// GradientSums.
class StageSums {
 public:
  /// `stage`, `step` and `context` must outlive this object.
  StageSums(const ShardedProgram::Stage& stage, const OwnedStep& step, const SumContext& context);

  /// Must be called before each shard of this rank runs with `options`, which must stream the
  /// stage's sums. Sets the callback that receives the sums. `last` is true for the last shard of
  /// the rank. `order`, which must stay valid, is the order in which sums become complete; if sums
  /// are owned, it must be the same on all ranks.
  void before(int shard, const SumNumbers& order, bool last, RunOptions& options);
  /// Must be called after the shard has run.
  void after();
  /// Returns the sums over all ranks that this rank needs, named as inputs of later parts. Must be
  /// called after all shards of this rank. Collective; throws WorldError.
  NamedTensors totals();

 private:
  /// Handles an output of the running shard.
  void take(const std::string& output, const Tensor& value);

  const bool any_;
  SumAllReduce all_;
  std::unique_ptr<SumReduceScatter> owned_;  // null if the stage has no owned sums
};

}  // namespace weft

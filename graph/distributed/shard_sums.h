// Accumulation of a stage's sums over all shards of all ranks.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "weft/graph/distributed/shard_runner.h"

namespace weft {

/// Accumulates the sums of one stage over this rank's shards, each as soon as it is complete and
/// without storing it separately, and then over all ranks. Sums that all ranks need are reduced
/// after the last shard. Sums that only their owners need (OwnedStep) are sent while shards are
/// still running: during the last shard of this rank or during every shard, depending on
/// GradientSums.
class StageSums {
 public:
  /// `runner`, `stage` and `step` must outlive this object.
  StageSums(const ShardedProgram::Stage& stage, const OwnedStep& step, int shards,
            const PartRunner& runner);
  ~StageSums();
  StageSums(const StageSums&) = delete;
  StageSums& operator=(const StageSums&) = delete;

  /// Must be called before each shard of this rank runs with `options`, which must stream the
  /// stage's sums. Sets the callback that receives the sums. `last` is true for the last shard of
  /// the rank. `order`, which must stay valid, is the order in which sums become complete; if sums
  /// are owned, it must be the same on all ranks.
  void before(int shard, const std::vector<std::size_t>& order, bool last, RunOptions& options);
  /// Must be called after the shard has run.
  void after();
  /// Returns the sums over all ranks that this rank needs, named as inputs of later parts. Must be
  /// called after all shards of this rank. Collective; throws WorldError.
  NamedTensors totals();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft

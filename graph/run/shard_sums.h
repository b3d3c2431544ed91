// Sums of a stage over all shards of all ranks.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "weft/graph/run/shard_runner.h"

namespace weft {

/// Accumulates the sums of one stage: those of this rank's shards as soon as they are complete,
/// without keeping them separately, then those of all ranks. Sums that all ranks need are reduced
/// after the last shard. Sums that only their owners need (OwnedStep) are in transit while shards
/// are still running: during the last shard of this rank, or during each of its shards, depending
/// on GradientSums.
class StageSums {
 public:
  /// `runner`, `stage` and `step` must outlive this object.
  StageSums(const ShardedProgram::Stage& stage, const OwnedStep& step, int shards,
            const PartRunner& runner);
  ~StageSums();
  StageSums(const StageSums&) = delete;
  StageSums& operator=(const StageSums&) = delete;

  /// Call it before each shard of this rank runs with `options`, which must stream the stage's
  /// sums: sets the callback that receives them. `last`: this is the last shard of the rank.
  /// `order`, which must stay valid, is the order in which sums become complete; if sums are owned
  /// it is the same on all ranks.
  void before(int shard, const std::vector<std::size_t>& order, bool last, RunOptions& options);
  /// Call it after the shard has run.
  void after();
  /// Returns the sums over all ranks that this rank needs, by the name of the input in later parts.
  /// Call it after all shards of this rank. Collective; throws WorldError.
  NamedTensors totals();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft

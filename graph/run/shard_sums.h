// Sums of a stage over all shards of all ranks.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "weft/graph/run/shard_runner.h"

namespace weft {

/// What a stage of a program with shards adds up: sums of this rank's shards as they come, of which
/// none is kept, then those of all ranks. What all ranks need is summed behind the last shard; what
/// owners alone need (OwnedStep) is on its way while the last shard of this rank still runs, or
/// while each does (GradientSums).
class StageSums {
 public:
  /// `runner`, `stage` and `step` must outlive it.
  StageSums(const ShardedProgram::Stage& stage, const OwnedStep& step, int shards,
            const PartRunner& runner);
  ~StageSums();
  StageSums(const StageSums&) = delete;
  StageSums& operator=(const StageSums&) = delete;

  /// A shard of this rank, perhaps the last one, is about to run with `options`, by which its sums
  /// are passing: sets what becomes of them. `order`, which stays, is that in which they become
  /// complete; the same on all ranks, where sums are owned.
  void before(int shard, const std::vector<std::size_t>& order, bool last, RunOptions& options);
  /// It has run.
  void after();
  /// After all shards of this rank: the sums of all ranks that this one needs, by input of the
  /// parts behind the stage. Collective; throws WorldError.
  NamedTensors totals();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft

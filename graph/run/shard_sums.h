// Sums of a stage over all shards of all ranks.
#pragma once

#include <memory>

#include "weft/graph/run/shard_runner.h"

namespace weft {

/// What a stage of a program with shards adds up: sums of this rank's shards as they come, of which
/// none is kept, then those of all ranks. What all ranks need is summed behind the last shard; what
/// owners alone need (OwnedStep) is on its way while the last shard of this rank still runs.
class StageSums {
 public:
  /// `runner`, `stage` and `step` must outlive it.
  StageSums(const ShardedProgram::Stage& stage, const OwnedStep& step, int shards,
            const PartRunner& runner);
  ~StageSums();
  StageSums(const StageSums&) = delete;
  StageSums& operator=(const StageSums&) = delete;

  /// A shard of this rank, perhaps the last one, is about to run with `options`: sets what
  /// becomes of its sums.
  void before(int shard, bool last, RunOptions& options);
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

// Runs the parts of a sharded program.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/core/world/world.h"
#include "weft/graph/distributed/gradient_sums.h"
#include "weft/graph/distributed/owned_step.h"
#include "weft/graph/distributed/parameter_exchange.h"
#include "weft/graph/distributed/split_shards.h"
#include "weft/graph/run/results.h"

namespace WEFT_API weft {

/// The Session's operations that run_shards() uses to run the parts of a program.
struct PartRunner {
  FunctionRef<Results(const Program& part, const NamedTensors& feeds, const RunOptions& options)>
      run;
  FunctionRef<Tensor(const std::string& name)> value;  // current value of a variable
  FunctionRef<std::shared_ptr<Buffer>(std::size_t bytes)> memory;
  /// Returns the indices of the sums of a stage, in the order in which a run of the stage with
  /// `options` completes the sums on rank 0. The first call for a stage is collective.
  FunctionRef<const std::vector<std::size_t>&(const ShardedProgram::Stage& stage,
                                              const NamedTensors& feeds, const RunOptions& options)>
      order_of_sums;
  bool sums_owned;           // GradientSums::owned is in effect
  std::size_t bucket_bytes;  // SessionOptions::bucket_bytes
  bool overlap;              // SessionOptions::overlap
  /// Waits for the parameters of the previous step.
  FunctionRef<void()> wait_for_parameters;
  /// Partitions the optimizer state of `step` if it is not partitioned yet (owned_state.h).
  FunctionRef<void(const OwnedStep& step)> partition_state;
  FunctionRef<std::shared_ptr<ParameterExchange>(const OwnedStep& step)> exchange_parameters;
  /// Calls body(). If body() throws, waits until the parameters of the previous step, which other
  /// ranks have already sent, have arrived, and then aborts all ranks.
  FunctionRef<void(FunctionRef<void()> body)> poison_on_error;
  Workers& workers;
  World world;
};

/// Runs one step. If `owned` is not empty, this rank runs only its part of the updates. `feeds`
/// returns the inputs of one shard; it is called once for each shard that this rank computes, in
/// order. `options` apply to the whole step. The message of an error in a shard begins with the
/// shard's number, and all variables are unchanged. If this rank throws, the other ranks wait for
/// it until the caller poisons the world.
Results run_shards(const Program& program, const ShardedProgram& parts, const OwnedStep& owned,
                   FunctionRef<NamedTensors(int shard)> feeds, const RunOptions& options,
                   const PartRunner& runner);

/// The sizes for which a stage of `program` is planned.
struct StageSizes {
  NamedSizes feeds;
  DimValues dims;
};
/// Returns the sizes for planning `stage`. `feeds` contains the sizes of the program's inputs. The
/// stage has additional inputs with constant sizes, and may not have all inputs that determine the
/// values of symbols.
StageSizes sizes_of_stage(const Program& program, const Program& stage, const NamedSizes& feeds,
                          const DimValues& dims);

/// Returns the inputs of one shard of the whole batch: rows [shard * n / G, (shard + 1) * n / G) of
/// every input whose first axis is the axis of `program.shards()`. Throws ShapeError if the rows
/// cannot be divided into equal parts, and ArgumentError if no input has this first axis but some
/// inputs have a different symbol as their first axis.
NamedTensors slice_feeds(const Program& program, const NamedTensors& feeds, int shard);

}  // namespace weft

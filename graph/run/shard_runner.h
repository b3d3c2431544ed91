// Runs the parts of a program with shards.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/core/world/world.h"
#include "weft/graph/distribute/gradient_sums.h"
#include "weft/graph/distribute/owned_step.h"
#include "weft/graph/distribute/split_shards.h"
#include "weft/graph/run/parameter_exchange.h"
#include "weft/graph/run/results.h"

namespace WEFT_API weft {

/// What it takes to run a part: a Session's.
struct PartRunner {
  FunctionRef<Results(const Program& part, const NamedTensors& feeds, const RunOptions& options)>
      run;
  FunctionRef<Tensor(const std::string& name)> value;  // of a variable, now
  FunctionRef<std::shared_ptr<Buffer>(std::size_t bytes)> memory;
  /// The sums of a stage, by number, in the order in which a run of it with `options` completes
  /// them on rank 0. Collective where it is first called of a stage.
  FunctionRef<const std::vector<std::size_t>&(const ShardedProgram::Stage& stage,
                                              const NamedTensors& feeds, const RunOptions& options)>
      order_of_sums;
  bool sums_owned;           // GradientSums
  std::size_t bucket_bytes;  // SessionOptions
  bool overlap;              // SessionOptions
  /// Waits for the parameters of the step before.
  FunctionRef<void()> wait_for_parameters;
  /// Makes the owned state of `step` ready (owned_state.h).
  FunctionRef<void(const OwnedStep& step)> take_state;
  FunctionRef<std::shared_ptr<ParameterExchange>(const OwnedStep& step)> exchange_parameters;
  /// What body() throws ends all ranks. Parameters of the step before, which others have sent, are
  /// waited for before that.
  FunctionRef<void(FunctionRef<void()> body)> or_poison;
  Workers& workers;
  World world;
};

/// Runs a step, of which this rank takes its part `owned` where that is not empty: `feeds` gives
/// the inputs of one shard, and is called once for each that this rank computes, in order.
/// `options` are those of the whole. An error in a shard is preceded by its number; all variables
/// are as they were. The other ranks wait for one that throws.
Results run_shards(const Program& program, const ShardedProgram& parts, const OwnedStep& owned,
                   FunctionRef<NamedTensors(int shard)> feeds, const RunOptions& options,
                   const PartRunner& runner);

/// What a stage of `program` is planned with.
struct SizesOfPart {
  NamedSizes feeds;
  DimValues dims;
};
/// `feeds` are sizes of inputs of the program. The stage has others, of constant sizes, and may
/// lack inputs that show the value of a symbol.
SizesOfPart sizes_of_stage(const Program& program, const Program& stage, const NamedSizes& feeds,
                           const DimValues& dims);

/// The inputs of one shard, cut from those of the whole batch: rows [shard * n / G, ...) of every
/// input that begins with the axis of `program.shards()`. Throws ShapeError where the rows cannot
/// be cut into equal parts, ArgumentError where no input begins with the axis, but some with
/// another symbol.
NamedTensors cut_feeds(const Program& program, const NamedTensors& feeds, int shard);

}  // namespace weft

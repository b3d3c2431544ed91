// The cost of a training step with shards, computed from the plans of its stages. Nothing is run,
// and no variable is allocated.
#pragma once

#include <memory>

#include "weft/graph/ir/program.h"
#include "weft/graph/plan/plan.h"
#include "weft/graph/run/results.h"
#include "weft/models/program/limits/step_model.h"
#include "weft/ops/precision.h"

namespace weft::program {

/// Returns the plan of a program for inputs of these sizes. Throws the same errors as compile() and
/// bind_symbols().
std::shared_ptr<const Plan> plan_of(const Program& program, const NamedSizes& inputs,
                                    const RunOptions& options, Precision precision);

/// Sizes in bytes of the gradients that a step sums over its shards.
struct ShardSums {
  double all = 0;
  double early = 0;  // part of `all`: early versions, which are sent before the sums are complete
};
/// Returns the sizes of the gradient sums of a stage. `of_shard` is the plan for one shard
/// (Session::plan).
ShardSums shard_sums(const Plan& of_shard);

/// Returns the cost of a training step. `inputs` are the input sizes for one shard. A program
/// without shards counts as a single shard. Throws the same errors as split_shards().
StepCost cost_of_step(const Program& train, const NamedSizes& inputs, Precision precision);

}  // namespace weft::program

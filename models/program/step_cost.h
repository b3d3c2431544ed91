// The cost of a training step in shards, computed from the plans of its parts: nothing is run, and
// no variable is allocated.
#pragma once

#include <memory>

#include "weft/graph/ir/program.h"
#include "weft/graph/plan/plan.h"
#include "weft/graph/run/results.h"
#include "weft/models/program/step_model.h"
#include "weft/ops/precision.h"

namespace weft::program {

/// Returns the plan of a program for inputs of these sizes. Throws as compile() and bind_symbols().
std::shared_ptr<const Plan> plan_of(const Program& program, const NamedSizes& inputs,
                                    const RunOptions& options, Precision precision);

/// Bytes of the gradients that a step sums over its shards.
struct ShardSums {
  double all = 0;
  double early = 0;  // of these: early versions, sent before the sums are complete
};
/// Returns the sums of a stage, given its plan for one shard (Session::plan).
ShardSums shard_sums(const Plan& of_shard);

/// Returns the cost of a training step. `inputs` are those of one shard; a program without shards
/// counts as a single shard. Throws as split_shards().
StepCost cost_of_step(const Program& train, const NamedSizes& inputs, Precision precision);

}  // namespace weft::program

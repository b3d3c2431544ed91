// What a training step in shards costs, from the plans of its parts: nothing runs, no variable gets
// memory.
#pragma once

#include <memory>

#include "weft/graph/ir/program.h"
#include "weft/graph/plan/plan.h"
#include "weft/graph/run/results.h"
#include "weft/models/program/step_model.h"
#include "weft/ops/precision.h"

namespace weft::program {

/// The plan of a program for inputs of these sizes. Throws as compile() and bind_symbols().
std::shared_ptr<const Plan> plan_of(const Program& program, const NamedSizes& inputs,
                                    const RunOptions& options, Precision precision);

/// Bytes that a step adds up over its shards: the gradients.
struct ShardSums {
  double all = 0;
  double early = 0;  // of these: what ranks send before it is complete
};
/// By the plan of what is run for a shard (Session::plan).
ShardSums shard_sums(const Plan& of_shard);

/// `inputs` are those of one shard; a program without shards has one. Throws as split_shards().
StepCost cost_of_step(const Program& train, const NamedSizes& inputs, Precision precision);

}  // namespace weft::program

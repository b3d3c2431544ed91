// The memory of a training step on a rank, before it is taken.
#pragma once

#include "weft/graph/ir/program.h"
#include "weft/graph/plan/plan.h"
#include "weft/graph/run/session.h"

namespace weft::program {

/// In bytes; doubles, as sums of sizes need not fit an integer.
struct StepMemory {
  double variables = 0;  // with a rank's part of the optimizer's state
  double working = 0;    // of a shard, where the batch is cut, and of parameters for other ranks
  double sums = 0;       // over shards, as they are added up; 0 without shards
  double outputs = 0;    // of a shard: the gradients
  double total() const;
};

/// Of `program`, whose plan `plan` is (for a shard: Session::plan), on a rank that runs it with
/// these options.
StepMemory step_memory(const Program& program, const Plan& plan, const SessionOptions& options);

}  // namespace weft::program

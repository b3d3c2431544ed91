// The memory of a training step on a rank, computed before it is allocated.
#pragma once

#include "weft/graph/ir/program.h"
#include "weft/graph/plan/plan.h"
#include "weft/graph/run/session.h"

namespace weft::program {

/// Sizes in bytes. They are doubles, because sums of sizes may overflow an integer.
struct StepMemory {
  /// Variables, with this rank's partition of the optimizer state.
  double variables = 0;
  /// Working memory of a step, or of a shard of it, and updated parameters for other ranks.
  double working = 0;
  /// Gradient sums over shards while they are being added up; 0 without shards.
  double sums = 0;
  /// Outputs of the step; of a shard, the gradients.
  double outputs = 0;
  /// The sum of `variables`, `working`, and the larger one of `sums` and `outputs`.
  double total() const;
};

/// Returns the memory of `program` on a rank that runs it with these options. `plan` is its plan
/// (for a shard: Session::plan).
StepMemory step_memory(const Program& program, const Plan& plan, const SessionOptions& options);

}  // namespace weft::program

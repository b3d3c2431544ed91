// The memory that a training step needs on one rank, computed before it is allocated.
#pragma once

#include "weft/graph/ir/program.h"
#include "weft/graph/plan/plan.h"
#include "weft/graph/run/session.h"

namespace weft::program {

/// Sizes in bytes. They are doubles because sums of sizes may overflow an integer.
struct StepMemory {
  /// Variables, including this rank's partition of the optimizer state.
  double variables = 0;
  /// Working memory of a step (or of one shard of the step), and updated parameters for other
  /// ranks.
  double working = 0;
  /// Gradients that are being summed over shards; 0 without shards.
  double sums = 0;
  /// Outputs of the step; for a shard, these are the gradients.
  double outputs = 0;
  /// The sum of `variables`, `working`, and the maximum of `sums` and `outputs`.
  double total() const;
};

/// Returns the memory that `program` needs on a rank that runs it with these options. `plan` is the
/// plan of the program, or of one shard (Session::plan).
StepMemory step_memory(const Program& program, const Plan& plan, const SessionOptions& options);

}  // namespace weft::program

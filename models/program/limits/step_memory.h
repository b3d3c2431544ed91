// Memory and traffic of a training step on one rank, computed before the step runs.
#pragma once

#include "weft/graph/ir/program.h"
#include "weft/graph/plan/plan.h"
#include "weft/graph/run/session.h"

namespace weft::program {

/// Sizes in bytes. They are doubles because sums of sizes may overflow an integer.
struct StepMemory {
  /// Variables, including this rank's partition of the optimizer state.
  double variables = 0;
  /// The part of `variables` that is optimizer state.
  double optimizer = 0;
  /// Working memory of a step (or of one shard of the step), and updated parameters for other
  /// ranks.
  double working = 0;
  /// Gradients that are being summed over shards; 0 without shards.
  double sums = 0;
  /// Outputs of the step; for a shard, these are the gradients.
  double outputs = 0;
  /// Gradient sums and updated parameters that the rank sends in a step; not part of total().
  double sent = 0;
  /// The sum of `variables`, `working`, and the maximum of `sums` and `outputs`.
  double total() const;
};

/// Returns the memory that `program` needs on one of `ranks` ranks that run it with these options,
/// in the worst case over all ranks. The world of `options` is not used. `plan` is the plan of the
/// program, or of one shard (Session::plan).
StepMemory step_memory(const Program& program, const Plan& plan, int ranks,
                       const SessionOptions& options = {});

/// Returns the memory for sums over shards of the rank that needs the most. The step sums gradients
/// of `sum_bytes` bytes over `shards` shards.
double sums_of_rank(double sum_bytes, int ranks, int shards);

/// As above, if sums are owned (GradientSums::owned) and sent in buckets of `bucket_bytes` bytes.
double owned_sums_of_rank(double sum_bytes, double bucket_bytes, int ranks, int shards);

}  // namespace weft::program

// Specialisation: the concrete half of planning, which is done once per set of sizes.
#pragma once

#include <memory>

#include "weft/graph/plan/plan.h"

namespace WEFT_API weft {

/// Options of specialise().
struct PlanOptions {
  /// Guard bytes on both sides of every arena buffer, a multiple of 64 (test mode).
  std::size_t guard = 0;
  /// Precision of matrix products for which neither the node nor the program sets one.
  Precision precision = Precision::highest;
  /// Makes all programs batch-invariant (SessionOptions::batch_invariant).
  bool batch_invariant = false;
  /// Maximum size of the arena in bytes; 0: no limit. Values that do not fit are rematerialised:
  /// they are dropped after their first uses and recomputed before later uses. They are recomputed
  /// by the same kernels, so results are bit-exact.
  std::size_t memory_budget = 0;
  /// Treats weights that the program does not update as constant (OperandSpec::constant), so that
  /// kernels may use packed copies.
  bool prepack = false;
  /// True if the plan is a loop body: every run reads the variables from wherever the previous run
  /// stored them.
  bool loop_body = false;
  /// For a loop body: inputs that are the same in every iteration, so that kernels may use packed
  /// copies.
  IdVector<InputId, char> constant_inputs = {};
  /// Writes no variable before all steps have run, so that a run can be abandoned until then.
  bool updates_last = false;
};

/// Evaluates shapes and attributes, creates kernels, orders the steps, forms waves and lays out
/// memory. All symbols that occur must be bound; otherwise throws a ShapeError that names the
/// unbound symbol and the source line. If memory_budget cannot be met, throws an ArgumentError that
/// names the smallest budget for which a plan was found.
std::shared_ptr<const Plan> specialise(std::shared_ptr<const CompiledProgram> program,
                                       const Bindings& bindings, const PlanOptions& options = {});

}  // namespace weft

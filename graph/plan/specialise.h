// Specialising: the concrete half of planning, done once per set of sizes.
#pragma once

#include <memory>

#include "weft/graph/plan/plan.h"

namespace WEFT_API weft {

struct PlanOptions {
  /// Bytes kept free on both sides of every arena buffer, a multiple of 64 (test mode).
  std::size_t guard = 0;
  /// Of matrix products, where neither node nor program says.
  Precision precision = Precision::highest;
  /// Most bytes of the arena; 0 = no limit. What does not fit is rematerialised: dropped after its
  /// first uses and computed again before the later ones, by the same kernels, so that results keep
  /// their bits.
  std::size_t memory_budget = 0;
  /// Weights that the program does not update are constant (OperandSpec::constant).
  bool prepack = false;
  /// The plan runs many times, each time with the updated variables of the time before, which may
  /// be anywhere; and which inputs are the same every time, so that kernels may read packed copies.
  bool loop_body = false;
  IdVector<InputId, char> constant_inputs = {};
  /// Writes no variable before every step has run, so that a run can still be given up.
  bool updates_last = false;
};

/// Evaluates shapes and attributes, makes kernels, orders the steps, forms waves and lays out
/// memory. All symbols that occur must be bound (ShapeError names the one that is not, and the
/// user's line). A memory_budget that cannot be met is an ArgumentError that says the smallest one
/// for which there is a plan.
std::shared_ptr<const Plan> specialise(std::shared_ptr<const CompiledProgram> program,
                                       const Bindings& bindings, const PlanOptions& options = {});

}  // namespace weft

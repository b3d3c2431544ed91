// Specialising: the concrete half of planning, done once per set of sizes.
#pragma once

#include <memory>

#include "weft/graph/plan/plan.h"

namespace weft {

struct PlanOptions {
  /// Bytes kept free on both sides of every arena buffer, a multiple of 64 (test mode).
  std::size_t guard = 0;
  /// Of matrix products, where neither node nor program says.
  Precision precision = Precision::highest;
};

/// Evaluates shapes and attributes, makes kernels, orders the steps, forms waves and lays out
/// memory. All symbols that occur must be bound (ShapeError names the one that is not, and the
/// user's line).
std::shared_ptr<const Plan> specialise(std::shared_ptr<const CompiledProgram> program,
                                       const Bindings& bindings, const PlanOptions& options = {});

}  // namespace weft

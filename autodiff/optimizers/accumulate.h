// Gradients over several micro-batches.
#pragma once

#include <string>
#include <vector>

#include "weft/autodiff/gradients.h"
#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

/// Gradient accumulation: run `accumulate` for each micro-batch, then a program with the updates of
/// an optimizer on `gradients` and with `clear`, which steps on the mean of the accumulated
/// gradients and forgets them.
struct Accumulation {
  Updates accumulate;
  /// Mean gradients over the micro-batches so far, one per parameter: give them to an optimizer in
  /// place of the loss.
  std::vector<Value> gradients;
  /// Sets accumulators and counter to zero: add it to the program that steps.
  Updates clear;
};

struct AccumulateOptions {
  /// Prefix of the names of the variables that are added. Empty: "accumulated", and for further
  /// ones of a graph "accumulated.2" and so on; a GraphError where the prefix that is given is
  /// taken.
  std::string scope = {};
  /// As StepOptions::gradients.
  GradientOptions gradients = {};
};
/// Adds the accumulators, as variables of kind optimizer: n elements for each parameter of n, and a
/// counter. Throws as gradients(), GraphError where the scope is taken.
Accumulation accumulate_gradients(Value loss, const std::vector<Variable>& parameters,
                                  const AccumulateOptions& options = {},
                                  SourceLocation loc = SourceLocation::current());

}  // namespace weft

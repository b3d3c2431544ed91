// Gradients over several micro-batches.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/ir/program.h"

namespace weft {

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
Accumulation accumulate_gradients(Value loss, const std::vector<Variable>& parameters,
                                  const std::string& scope = "accumulated",
                                  SourceLocation loc = SourceLocation::current());

}  // namespace weft

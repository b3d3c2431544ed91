// Estimates the effect of rounding on a program by running its nodes with perturbed values.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "weft/tests/reference/interpreter.h"

namespace weft::testing {

/// Rounding behaviour of a node, determined when the node is compared with its scalar model.
struct Accuracy {
  /// Results depend on the order of sums or on the implementation of functions.
  bool rounds = false;
  /// Results depend on the precision of products.
  bool narrows = false;
};
using Accuracies = std::unordered_map<const Node*, Accuracy>;

/// Evaluates nodes with their kernels, at the precision of a program that specifies `precision`.
NodeRule kernel_rule(Precision precision);

/// As above, but perturbs every result at random within its rounding error, and the operands of
/// products within the error that the precision allows. Running a program several times in this way
/// shows how much its outputs depend on rounding. For example, if gradients cancel out, an
/// optimizer step can go in either direction.
NodeRule moved_rule(Precision precision, const Accuracies& accuracies, std::uint64_t seed);

}  // namespace weft::testing

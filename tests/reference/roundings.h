// What roundings may make of a program: the same nodes, rounded elsewhere.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "weft/tests/reference/interpreter.h"

namespace weft::testing {

/// How exact a node is where it computes: found while nodes are compared with their models.
struct Accuracy {
  bool rounds = false;   // results depend on the order of sums, or on how functions are computed
  bool narrows = false;  // it takes notice of the precision of products
};
using Accuracies = std::unordered_map<const Node*, Accuracy>;

/// Nodes by their kernels at the precision of a program that states `precision`.
NodeRule kernel_rule(Precision precision);

/// The same with every result moved at random as far as its rounding may move it, and operands of
/// products as far as the precision does. Programs run so several times show what their outputs owe
/// to chance: where gradients cancel out, an optimizer's step may go either way.
NodeRule moved_rule(Precision precision, const Accuracies& accuracies, std::uint64_t seed);

}  // namespace weft::testing

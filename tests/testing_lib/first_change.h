// Finds the node at which two runs of a program with different feeds begin to differ.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/testing/run_checks.h"

namespace weft::testing {

/// The difference between the results of a node in two runs.
enum class Change {
  none,
  allowed,  // differs, but a change of this value is no fault by itself (a mean over all rows)
  fault,
};
/// Compares the tensors of a value of this type in the two runs.
using CompareRuns =
    std::function<Change(const ValueType& type, const Tensor& first, const Tensor& second)>;

/// Evaluates `roots` node by node, including the nodes in bodies of loops and branches, with
/// `feeds` and with `other`. Follows the first fault back to its cause: a node with changed results
/// and unchanged operands. Returns its op, its source line and the enclosing loops and branches, or
/// "" if there is no fault or if the runs cannot be compared.
std::string first_changed_node(Graph& graph, const Program& program,
                               const std::vector<Value>& roots, const RunSetup& setup,
                               const NamedTensors& other, const CompareRuns& compare);

}  // namespace weft::testing

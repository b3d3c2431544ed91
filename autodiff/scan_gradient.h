// Gradients of scans, and what gradients of branches share with them.
#pragma once

#include <string>
#include <vector>

#include "weft/autodiff/control_gradient.h"

namespace weft {

std::vector<Value> scan_gradient(Node& node, const std::vector<Value>& cotangents,
                                 const std::vector<bool>& needed,
                                 const DifferentiateBody& differentiate);

/// A copy of a function of some graph, to be added to.
Function open_copy(const Function& from);
/// A further input of a body, under this name or, where that is taken, with a number behind it.
Value fresh_input(Graph& body, const std::string& name, const ValueType& type);

}  // namespace weft

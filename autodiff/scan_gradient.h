// Gradients of scans, and helpers that the gradients of branches share.
#pragma once

#include <string>
#include <vector>

#include "weft/autodiff/control_gradient.h"

namespace weft {

/// The scan case of control_gradient().
std::vector<Value> scan_gradient(Node& node, const std::vector<Value>& cotangents,
                                 const std::vector<bool>& needed,
                                 const DifferentiateBody& differentiate);

/// Returns a copy of a graph's function whose body can be extended.
Function open_copy(const Function& from);
/// Adds an input to a body, named `name`, or "name.2", "name.3", ... if that name is taken.
Value fresh_input(Graph& body, const std::string& name, const ValueType& type);

}  // namespace weft

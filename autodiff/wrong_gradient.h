// Search for the op whose gradient is wrong, for the report of check_gradients().
#pragma once

#include <string>

#include "weft/autodiff/check_gradients.h"

namespace weft {

/// Like check_gradients(), but without the search for the faulty op.
GradientReport compare_gradients(Value output, const std::vector<Value>& wrt,
                                 const GradientCheckOptions& options, SourceLocation loc);

/// Checks the gradient of every node that `output` is computed from in isolation: in a separate
/// graph, with the operands that the node has in the original graph. Returns the op and source
/// location of the first node with a gradient that differs from finite differences, for example
/// "matmul, model.cc:31" (for a call, also the name of the function), or "" if there is none.
std::string first_wrong_gradient(const Value& output, const GradientCheckOptions& options);

}  // namespace weft

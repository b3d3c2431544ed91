// Search for the op whose gradient is wrong, for the report of check_gradients().
#pragma once

#include <string>

#include "weft/autodiff/check_gradients.h"

namespace weft {

/// As check_gradients(), but without the search for the faulty op.
GradientReport compare_gradients(Value output, const std::vector<Value>& wrt,
                                 const GradientCheckOptions& options, SourceLocation loc);

/// Checks the gradient of every node that `output` is computed from in isolation: in a separate
/// graph, with the operands that the node has in this one. Returns op and place of the first node
/// whose gradient differs from finite differences ("matmul, model.cc:31", with the function's name
/// for a call), or "" if there is none.
std::string first_wrong_gradient(const Value& output, const GradientCheckOptions& options);

}  // namespace weft

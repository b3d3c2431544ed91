// Which op's gradient is wrong: what check_gradients says besides.
#pragma once

#include <string>

#include "weft/autodiff/check_gradients.h"

namespace weft {

/// check_gradients() without that search.
GradientReport compare_gradients(Value output, const std::vector<Value>& wrt,
                                 const GradientCheckOptions& options, SourceLocation loc);

/// "matmul, model.cc:31" of the first node before `output` whose own gradient, in a graph of its
/// own with the operands that it has in this one, differs from differences; "" where there is none.
/// Of a call also the function's name.
std::string first_wrong_gradient(const Value& output, const GradientCheckOptions& options);

}  // namespace weft

// Reverse-mode differentiation as a graph-to-graph transform.
#pragma once

#include <initializer_list>
#include <vector>

#include "weft/autodiff/rule.h"
#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// How to treat a value of `wrt` on which the differentiated output does not depend: throw
/// GradientError, or return zeros as its gradient.
enum class Unreachable { error, zeros };

struct GradientOptions {
  /// Cotangent of the output, of the output's type. Required for a non-scalar output; 1 by default
  /// for a scalar.
  Value cotangent = {};
  Unreachable unreachable = Unreachable::error;
  /// Gradient rules and definitions to use; null selects the built-in ones.
  const RuleSet* rules = nullptr;
};

/// Returns the gradients of `output` with respect to each value of `wrt` (parameters, inputs or
/// intermediate values) as new nodes of the same graph, which can be used, optimised, saved and
/// differentiated like any other nodes. Each gradient has the type of the corresponding value of
/// `wrt`. Gradients never flow through variable updates into earlier runs. Throws GradientError,
/// which names the op and the source line, for an op without a rule, a non-scalar output without a
/// cotangent, an integer `output` or `wrt`, and, with Unreachable::error, a value on which `output`
/// does not depend.
std::vector<Value> gradients(Value output, const std::vector<Value>& wrt,
                             const GradientOptions& options = {},
                             SourceLocation loc = SourceLocation::current());
std::vector<Value> gradients(Value output, const std::vector<Variable>& wrt,
                             const GradientOptions& options = {},
                             SourceLocation loc = SourceLocation::current());

/// Overloads for braced lists: gradients(loss, {weight, bias}).
std::vector<Value> gradients(Value output, std::initializer_list<Value> wrt,
                             const GradientOptions& options = {},
                             SourceLocation loc = SourceLocation::current());
std::vector<Value> gradients(Value output, std::initializer_list<Variable> wrt,
                             const GradientOptions& options = {},
                             SourceLocation loc = SourceLocation::current());

/// Returns the gradient of `output` with respect to a single value.
Value gradient(Value output, Value wrt, const GradientOptions& options = {},
               SourceLocation loc = SourceLocation::current());

}  // namespace weft

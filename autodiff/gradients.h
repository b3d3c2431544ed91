// Reverse-mode differentiation as a graph-to-graph transform.
#pragma once

#include <initializer_list>
#include <vector>

#include "weft/autodiff/rule.h"
#include "weft/graph/decompositions/decomposition.h"
#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// What to do with a value on which the differentiated one does not depend.
enum class Unreachable { error, zeros };

struct GradientOptions {
  /// Cotangent of a non-scalar output (same type); a scalar's is 1 unless given.
  Value cotangent = {};
  Unreachable unreachable = Unreachable::error;
  /// Rules and definitions to use; null means Weft's own.
  const RuleSet* rules = nullptr;
  const DecompositionSet* decompositions = nullptr;
};

/// The gradients of `output` with respect to each value of `wrt` (parameters, inputs or
/// intermediate values), as new nodes of the same graph: they can be used, optimised, saved and
/// differentiated like any others. Each result has the type of its value. Never follows updates
/// into earlier runs. Throws GradientError naming op and line: for an op without a rule, a
/// non-scalar output without a cotangent, an integer output or `wrt`, and (as asked) an unreachable
/// value.
std::vector<Value> gradients(Value output, const std::vector<Value>& wrt,
                             const GradientOptions& options = {},
                             SourceLocation loc = SourceLocation::current());
std::vector<Value> gradients(Value output, const std::vector<Variable>& wrt,
                             const GradientOptions& options = {},
                             SourceLocation loc = SourceLocation::current());

/// The same for lists written in place: gradients(loss, {weight, bias}).
std::vector<Value> gradients(Value output, std::initializer_list<Value> wrt,
                             const GradientOptions& options = {},
                             SourceLocation loc = SourceLocation::current());
std::vector<Value> gradients(Value output, std::initializer_list<Variable> wrt,
                             const GradientOptions& options = {},
                             SourceLocation loc = SourceLocation::current());

/// The same for one value.
Value gradient(Value output, Value wrt, const GradientOptions& options = {},
               SourceLocation loc = SourceLocation::current());

}  // namespace weft

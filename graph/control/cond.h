// Branches, and loops with a data-dependent number of steps.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/control/call.h"

namespace WEFT_API weft {

struct CondOptions {
  /// Prefix of the names of the body functions.
  std::string name = "cond";
};

/// Returns the values of `then` if `predicate` (a bool scalar) is true, else the values of
/// `otherwise`. Only the selected branch runs. Both branches receive `operands` and return values
/// of the same types. They may capture values, Variables and keys of the graph of `predicate`, as
/// in scan(), and may return captured values. Operations on captured values belong to the branch,
/// so they run only if the branch is selected. The cost is the run time of the selected branch and
/// the memory of the larger branch. Gradients of any order flow through the operands and the
/// captured values. Only these and the predicate are kept for gradients: the backward pass runs the
/// selected branch again and differentiates it.
///   const Value y = cond(use_large, {}, [&](Graph&, auto&) { return std::vector{large(x)}; },
///                        [&](Graph&, auto&) { return std::vector{small(x)}; })[0];
std::vector<Value> cond(Arg predicate, const std::vector<Value>& operands,
                        const FunctionBuilder& then, const FunctionBuilder& otherwise,
                        const CondOptions& options = {},
                        SourceLocation loc = SourceLocation::current());

struct WhileOptions {
  /// Values that are the same in every step. Passed to the bodies after the carries.
  std::vector<Value> operands = {};
  /// Prefix of the names of the body functions.
  std::string name = "while";
};

/// Runs `body` while `condition` is true, at most `limit` times, and returns the final carries.
/// Both functions receive the carries and the operands, and may capture values, Variables and keys
/// of `graph`, as in scan(). `body` returns the new carries, and `condition` returns a bool scalar.
/// Random draws in the body differ from step to step, because captured keys and keys among the
/// operands are folded with the number of the step; the condition cannot draw random numbers. The
/// loop needs memory for one step only. A while loop has no gradient; for a differentiable loop,
/// use a scan with a cond as its body.
std::vector<Value> while_loop(Graph& graph, const std::vector<Value>& carries,
                              const FunctionBuilder& condition, const FunctionBuilder& body,
                              std::int64_t limit, const WhileOptions& options = {},
                              SourceLocation loc = SourceLocation::current());

}  // namespace weft

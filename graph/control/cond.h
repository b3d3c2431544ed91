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
/// `otherwise`. Only the selected branch runs. Both branches receive `operands`, must not use any
/// other values, and return values of the same types. The cost is the run time of the selected
/// branch and the memory of the larger branch. Gradients of any order flow through the operands.
/// Only the operands and the predicate are kept for gradients: the backward pass runs the selected
/// branch again and differentiates it.
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
/// Both functions receive the carries and the operands. `body` returns the new carries, and
/// `condition` returns a bool scalar. The loop needs memory for one step only. A while loop has no
/// gradient; for a differentiable loop, use a scan with a cond as its body.
std::vector<Value> while_loop(Graph& graph, const std::vector<Value>& carries,
                              const FunctionBuilder& condition, const FunctionBuilder& body,
                              std::int64_t limit, const WhileOptions& options = {},
                              SourceLocation loc = SourceLocation::current());

}  // namespace weft

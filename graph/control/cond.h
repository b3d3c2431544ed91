// Branches, and loops whose length the data decide.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/graph/control/call.h"

namespace WEFT_API weft {

struct CondOptions {
  std::string name = "cond";  // of the functions in the graph's text
};

/// The values that `then` gives where `predicate` (a bool scalar) is true, else those of
/// `otherwise`: only one of them runs. Both take `operands`, use nothing else, and give values of
/// the same types. Costs what the branch that is taken costs, in the memory of the larger one.
/// Gradients of any order go through the operands, which with the predicate are all that is kept
/// for them: the branch that was taken runs again and is differentiated there.
std::vector<Value> cond(Arg predicate, const std::vector<Value>& operands,
                        const FunctionBuilder& then, const FunctionBuilder& otherwise,
                        const CondOptions& options = {},
                        SourceLocation loc = SourceLocation::current());

struct WhileOptions {
  std::vector<Value> operands = {};  // the same in every step, behind the carries
  std::string name = "while";
};

/// Runs `body` as long as `condition` gives true, at most `limit` times. Both take the carries and
/// the operands; `body` gives the new carries, `condition` a bool scalar. Returns the last carries.
/// Memory is that of one step. It has no gradient: a scan whose body is a cond has one.
std::vector<Value> while_loop(Graph& graph, const std::vector<Value>& carries,
                              const FunctionBuilder& condition, const FunctionBuilder& body,
                              std::int64_t limit, const WhileOptions& options = {},
                              SourceLocation loc = SourceLocation::current());

}  // namespace weft

// The variables that optimizers add to a graph.
#pragma once

#include <string>
#include <string_view>

#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// Returns `given` unless it is empty. Otherwise returns the first scope of "base", "base.2",
/// "base.3", ... in which the graph has no variable `mark`, the name of a variable that every
/// optimizer of the same kind adds.
std::string unused_scope(const Graph& graph, const std::string& given, std::string_view base,
                         std::string_view mark);

/// The name prefix for the variables of one optimizer or Ema, and texts for the error that is
/// thrown if a name is taken.
struct StateScope {
  std::string function;  // function that the user called: "adamw"
  std::string what;      // "optimizer"
  std::string option;    // option that sets the scope: "StepOptions::scope"
  std::string scope;
  SourceLocation loc;

  /// Adds a variable "<scope>.<name>" of kind optimizer that starts at zero. Throws a GraphError
  /// that explains the remedy if the graph already has this variable.
  Variable variable(Graph& graph, std::string_view name, const ValueType& type) const;
};

}  // namespace weft

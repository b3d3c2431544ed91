// The variables that optimizers add to a graph.
#pragma once

#include <string>
#include <string_view>

#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// `given`, or where it is empty the first of "base", "base.2", "base.3", ... below which the graph
/// has no variable `mark`: every optimizer has one.
std::string free_scope(const Graph& graph, const std::string& given, std::string_view base,
                       std::string_view mark);

/// Where the variables of one optimizer (or average, ...) live: their names begin with
/// its scope.
struct StateScope {
  std::string function;  // whose error it is where a name is taken: "adamw"
  std::string what;      // "optimizer"
  std::string option;    // where its users set the scope: "StepOptions::scope"
  std::string scope;
  SourceLocation loc;

  /// A new variable "<scope>.<name>" of kind optimizer that starts at zero. Throws GraphError that
  /// says what to do where the graph has it already.
  Variable variable(Graph& graph, std::string_view name, const ValueType& type) const;
};

}  // namespace weft

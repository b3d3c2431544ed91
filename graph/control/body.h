// Helpers for bodies, the functions that loops and branches run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/control/call.h"

namespace WEFT_API weft {

/// The control-flow ops. A plan runs their bodies.
enum class ControlOp { scan, cond, while_loop };
/// Returns the control-flow op of `node`. Throws GraphError for any other op with bodies.
ControlOp control_op(const Node& node);

/// Returns the types of the values.
std::vector<ValueType> types_of(const std::vector<Value>& values);

/// Adds `function` to the graph and returns its name. If the name is taken by a different function,
/// a number is appended. If the graph already has an equal function under one of these names, that
/// function is reused.
std::string add_body(Graph& graph, Function function, SourceLocation loc);

/// Declares formal inputs in `body` for operands of `types` in `outer`. A symbol that is the full
/// size of an axis keeps its name, so that messages and text use the same names for both graphs. A
/// size expression that contains any other symbol becomes a new symbol.
std::vector<Value> declare_like(const Graph& outer, Graph& body,
                                const std::vector<ValueType>& types,
                                const std::vector<std::string>& names);

/// Copies each requirement of the caller `from` to the body `to`, provided that the body has all of
/// its symbols.
void copy_requirements(const Graph& from, Graph& to);
/// Adds the requirements of the function's body to `graph`, with the body's symbols replaced by the
/// dims of the operands.
void require_of_operands(Graph& graph, const Function& function,
                         const std::vector<ValueType>& operands, SourceLocation loc);

/// Throws ShapeError if a symbol of the body is not the full size of an input axis, and GraphError
/// if an output is not a value of the body (for example, a captured value of the caller). `what`
/// names the function in messages.
void check_closed(const Function& function, const Graph& outer, std::string_view what,
                  SourceLocation loc);

}  // namespace weft

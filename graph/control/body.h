// Bodies: the functions that loops and branches run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/control/call.h"

namespace WEFT_API weft {

/// The ops that run bodies in a plan.
enum class ControlOp { scan, cond, while_loop };
/// Which one `node` is; GraphError for all other ops with bodies.
ControlOp control_op(const Node& node);

std::vector<ValueType> types_of(const std::vector<Value>& values);

/// Adds `function` under its name or, where another function has it, under that name with a number.
/// A function of the graph that is equal but for the name is shared. Returns the name.
std::string add_body(Graph& graph, Function function, SourceLocation loc);

/// Formal inputs for `types` of `outer`: symbols that are a whole size of some type keep their
/// names, so that messages and text read alike; a size made of other symbols becomes a symbol of
/// its own.
std::vector<Value> declare_like(const Graph& outer, Graph& body,
                                const std::vector<ValueType>& types,
                                const std::vector<std::string>& names);

/// What the caller has required of symbols that the body has too.
void copy_requirements(const Graph& from, Graph& to);
/// What the body requires of its dims becomes required of the operands'.
void require_of_operands(Graph& graph, const Function& function,
                         const std::vector<ValueType>& operands, SourceLocation loc);

/// Throws ShapeError where a symbol of the body is no whole size of an input, GraphError for an
/// output that is no value of the body (a captured value of the caller, say).
void check_closed(const Function& function, const Graph& outer, std::string_view what,
                  SourceLocation loc);

}  // namespace weft

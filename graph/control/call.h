// Functions (closed subgraphs), function calls, and custom gradients.
#pragma once

#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "weft/graph/functions/arg.h"
#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// Callback that builds a body: it receives the graph and the inputs of the body and returns the
/// outputs. The branches of cond() and the functions of while_loop() may also use values, variables
/// and keys of the graph around them. A function of define_function() or custom_gradient() is
/// closed, because it is stored under its name and may be called with different operands:
/// everything that it uses must be passed as an input (otherwise GraphError is thrown).
using FunctionBuilder =
    std::function<std::vector<Value>(Graph& body, const std::vector<Value>& inputs)>;

/// A formal input of a function.
struct FormalInput {
  std::string name;
  DType dtype = DType::f32;
  std::vector<AxisSize> sizes = {};
};

/// Defines the function `name` of `graph` with the given inputs. Symbols are local to the function:
/// "n" in `sizes` is a symbol of the body that is bound to the operand's size at every call. A size
/// that is neither a number nor a single symbol may only contain symbols that are the full size of
/// some input axis (otherwise ShapeError is thrown).
const Function& define_function(Graph& graph, std::string_view name,
                                const std::vector<FormalInput>& inputs,
                                const FunctionBuilder& builder,
                                SourceLocation loc = SourceLocation::current());

/// Calls a function and returns its outputs. In the body of a loop or branch, a function of an
/// enclosing graph can be called, too. Each call of a function that draws random numbers
/// (such as dropout) draws different numbers; other equal calls share one node. Operand dtypes and
/// shapes must match the formal inputs (otherwise DTypeError or ShapeError is thrown). Requirements
/// of the body apply to the dims of the operands. Calls have no overhead, because an optimisation
/// pass inlines the body.
std::vector<Value> call(Graph& graph, std::string_view function,
                        const std::vector<Value>& arguments,
                        SourceLocation loc = SourceLocation::current());

/// Applies `forward` to `arguments` with a custom gradient. `gradient` receives the arguments, the
/// outputs and one cotangent per output, in this order, and returns one value per argument, of the
/// argument's type; an undefined Value means a zero gradient. `forward` and `gradient` are stored
/// as closed functions of the graph, named `name` and `name`.gradient, and are reused if the same
/// functions are applied to operands of the same types. Throws GraphError if `name` belongs to a
/// different function.
///
/// The n-th random draw of the gradient from a key equals the n-th draw of the forward pass, so
/// that the gradient can reproduce a dropout mask; use fold_key() for different numbers. The
/// arguments and outputs that `gradient` reads are kept in memory for it; intermediate values of
/// `forward` are not.
///   auto y = custom_gradient(g, "clip", {x}, forward, gradient)[0];
std::vector<Value> custom_gradient(Graph& graph, std::string_view name,
                                   const std::vector<Value>& arguments,
                                   const FunctionBuilder& forward, const FunctionBuilder& gradient,
                                   SourceLocation loc = SourceLocation::current());

/// Returns true if a node is a call. An optimisation pass replaces calls with the bodies of their
/// functions.
inline bool is_call(const Node& node) { return node.op().name == "call"; }

/// Maps the symbols of a function's body to the dims that they are bound to at a call.
class SymbolMap {
 public:
  /// Binds a symbol, unless it is bound already.
  void bind(const SymbolPtr& symbol, Dim dim) { map_.emplace(symbol, std::move(dim)); }
  /// Returns true if the symbol is bound.
  bool has(const SymbolPtr& symbol) const { return map_.count(symbol) != 0; }
  /// Returns the map as a function for Dim::substitute(). The function holds a pointer to this
  /// SymbolMap.
  std::function<std::optional<Dim>(const SymbolPtr&)> lookup() const;
  /// Returns `dim` with bound symbols replaced.
  Dim apply(const Dim& dim) const { return dim.substitute(lookup()); }

 private:
  std::map<SymbolPtr, Dim> map_;
};
/// Binds every symbol that is the full size of a formal input axis to the size of that axis of the
/// operand.
SymbolMap bind_symbols(const Function& function, const std::vector<Value>& operands);
SymbolMap bind_symbols(const Function& function, const std::vector<ValueType>& operands);

}  // namespace weft

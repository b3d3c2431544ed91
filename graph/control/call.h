// Functions: closed sub-graphs, calls of them, and gradients of one's own.
#pragma once

#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "weft/graph/functions/arg.h"
#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// Builds the inside of a function: takes the body's graph and its inputs, gives its outputs. It
/// may use nothing else: values, variables and keys of the caller come in as inputs (GraphError
/// otherwise).
using FunctionBuilder =
    std::function<std::vector<Value>(Graph& body, const std::vector<Value>& inputs)>;

/// A formal input of a function.
struct FormalInput {
  std::string name;
  DType dtype = DType::f32;
  std::vector<AxisSize> sizes = {};
};

/// Defines the function `name` of `graph` with these inputs. Its symbols are its own: "n" in
/// `sizes` is an n of the body, which takes the size of the operand at every call. A size that is
/// not a plain number or symbol must be made of symbols that stand alone as a size of some input
/// (ShapeError otherwise).
const Function& define_function(Graph& graph, std::string_view name,
                                const std::vector<FormalInput>& inputs,
                                const FunctionBuilder& builder,
                                SourceLocation loc = SourceLocation::current());

/// Calls a function: one value per output. A call of a function that draws random numbers (dropout,
/// say) draws its own, like a fresh draw at its place; other equal calls are one node. Operand
/// dtypes and shapes must fit the formal ones (DTypeError, ShapeError). What the body requires of
/// its dims is required of the operands'. Costs nothing besides: a pass puts the body in its place.
std::vector<Value> call(Graph& graph, std::string_view function,
                        const std::vector<Value>& arguments,
                        SourceLocation loc = SourceLocation::current());

/// Applies `forward` to `arguments` with a gradient of one's own: `gradient` gets the arguments,
/// the outputs and one cotangent per output (in this order) and returns one value per argument, of
/// the argument's type; an undefined Value says that no gradient goes there (zeros). Both are
/// stored as closed functions of the graph, called `name` and `name`.gradient, and used again where
/// the same is applied to operands of the same types; another forward pass under the name is a
/// GraphError. The n-th draw of the gradient from a key draws the same as the n-th of the forward
/// pass, so that it can drop what that dropped; take a key from fold_key for other numbers. What
/// `gradient` reads of arguments and outputs is kept for it, and nothing from inside of `forward`.
///   auto y = custom_gradient(g, "clip", {x}, forward, gradient)[0];
std::vector<Value> custom_gradient(Graph& graph, std::string_view name,
                                   const std::vector<Value>& arguments,
                                   const FunctionBuilder& forward, const FunctionBuilder& gradient,
                                   SourceLocation loc = SourceLocation::current());

/// Whether a node is a call, which a pass replaces by the body of its function.
inline bool is_call(const Node& node) { return node.op().name == "call"; }

/// What the symbols of a function's body stand for at a call.
class SymbolMap {
 public:
  /// States what a symbol stands for; the first statement counts.
  void bind(const SymbolPtr& symbol, Dim dim) { map_.emplace(symbol, std::move(dim)); }
  /// Whether something was stated.
  bool has(const SymbolPtr& symbol) const { return map_.count(symbol) != 0; }
  std::function<std::optional<Dim>(const SymbolPtr&)> lookup() const;
  /// `dim` with what is stated in place of its symbols.
  Dim apply(const Dim& dim) const { return dim.substitute(lookup()); }

 private:
  std::map<SymbolPtr, Dim> map_;
};
/// Binds every symbol that is a whole size of a formal input to the operand's size.
SymbolMap bind_symbols(const Function& function, const std::vector<Value>& operands);
SymbolMap bind_symbols(const Function& function, const std::vector<ValueType>& operands);

}  // namespace weft

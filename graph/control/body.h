// Helpers for bodies, the functions that loops and branches run.
#pragma once

#include <deque>
#include <optional>
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

/// Builds the bodies of one loop or branch. A body may use values of the enclosing graphs: each of
/// them becomes an additional operand of the loop or branch, which all of its bodies receive.
/// The bodies share the symbols of the enclosing graphs, so that a Dim means the same size inside
/// and outside.
class BodyBuilder {
 public:
  /// `types` and `names` describe the inputs of the bodies, except for captured values. Input i of
  /// the captured values is named `captures.name` + (captures.first + i).
  BodyBuilder(Graph& graph, std::vector<ValueType> types, std::vector<std::string> names,
              Graph::Captures captures, SourceLocation loc);
  /// Keeps the graphs in which the bodies were built, for errors about values that the callbacks
  /// have stored.
  ~BodyBuilder();
  BodyBuilder(const BodyBuilder&) = delete;
  BodyBuilder& operator=(const BodyBuilder&) = delete;

  /// Builds a body. `what` describes it in errors. The callback may return captured values.
  void build(std::string name, const std::string& what, const FunctionBuilder& callback);
  /// Appends the captured values to the inputs of every body. Called after the last build().
  void add_captures();
  /// Body number `i`, in the order of the calls of build().
  Function& body(std::size_t i) { return bodies_[i].function; }

  /// The completed bodies, and the operands that they need in addition to those of the caller.
  struct Result {
    std::vector<Function> bodies;
    /// Indexed by the inputs that were passed to the constructor: false if the input was removed.
    std::vector<bool> kept;
    std::vector<Value> operands;
  };
  /// Completes the bodies. Removes inputs that no body reads if they are captured values or marked
  /// in `removable`. Adds an operand without elements for each symbol that is not the full size of
  /// an axis of another input. If `step` is the number of an input, random keys among the inputs
  /// after it are folded with this input, so that every step draws different numbers. Throws
  /// GraphError for an input that a callback has declared.
  Result finish(std::vector<bool> removable, std::optional<std::size_t> step = std::nullopt);

 private:
  struct Building {
    Function function;
    std::string what;
  };
  Function completed(const Building& from, const std::vector<bool>& kept,
                     const std::vector<Value>& sizes, std::optional<std::size_t> step);

  Graph& graph_;
  const std::vector<ValueType> types_;
  const std::vector<std::string> names_;
  Graph::Captures captures_;
  const SourceLocation loc_;
  std::deque<Building> bodies_;
};

/// Marks the inputs of `function` from number `first` on that are random keys from which it draws.
std::vector<bool> drawn_keys(const Function& function, std::size_t first);

/// Declares formal inputs in the closed graph `body` for operands of `types` in `outer`. A symbol
/// that is the full size of an axis keeps its name, so that messages and text use the same names
/// for both graphs. A size expression that contains any other symbol becomes a new symbol.
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

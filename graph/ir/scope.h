// Scope: a prefix for the names of variables and values, and the mode in which layers are built.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// The mode in which layers such as dropout and batch norm are built.
enum class Mode : std::uint8_t { training, evaluation };

/// A node in the name tree: with `Scope net(g, "net")`, `net / "block" / 3` is "net.block.3".
///
/// A model is written once, as a function of a scope, and built in both modes by calling the
/// function twice:
///
///   Value cnn(const Scope& net, Value images) { ... dropout(net, h, 0.1) ... }
///
///   const Scope net(g, "net");
///   const Value loss = cross_entropy(cnn(net.training(), images), labels);
///   const Value logits = cnn(net.evaluation(), images);
///
/// Each call of training() or evaluation() begins a new pass over the model. Variables that an
/// earlier pass declared are found by name and reused. In a scope without a mode, layers that
/// depend on the mode throw GraphError.
class Scope {
 public:
  Scope(Graph& graph, std::string path = {}) : graph_(&graph), path_(std::move(path)) {}

  Graph& graph() const { return *graph_; }
  const std::string& path() const { return path_; }
  /// Returns "path.name", or just `name` at the root.
  std::string join(std::string_view name) const;

  friend Scope operator/(const Scope& scope, std::string_view name) {
    Scope below = scope;
    below.path_ = scope.join(name);
    return below;
  }
  friend Scope operator/(const Scope& scope, std::integral auto index) {
    return scope / std::string_view(std::to_string(index));
  }

  /// Returns this scope at the beginning of a new pass in the given mode. Scopes derived from it
  /// belong to the same pass.
  Scope training() const { return in(Mode::training); }
  Scope evaluation() const { return in(Mode::evaluation); }
  Scope in(Mode mode) const;
  /// The mode of the pass; absent outside of passes.
  std::optional<Mode> mode() const;
  /// Returns true if `layer` is built for training. Throws a GraphError that suggests a fix if this
  /// scope has no mode.
  bool is_training(std::string_view layer, SourceLocation loc = SourceLocation::current()) const;

  /// Declares a variable in this scope. In a pass, an existing variable of this name is reused.
  /// Throws DTypeError or ShapeError if it has a different type, and GraphError if it has a
  /// different kind or if this pass has already declared the name. Outside of passes, declaring a
  /// name twice throws GraphError; share the Variable instead.
  Variable variable(std::string_view name, DType dtype, std::initializer_list<AxisSize> sizes,
                    VariableOptions options = {},
                    SourceLocation loc = SourceLocation::current()) const;
  Variable variable(std::string_view name, const ValueType& type, VariableOptions options = {},
                    SourceLocation loc = SourceLocation::current()) const;
  /// Declares a second name in this scope for a variable (tied weights), as Graph::alias does. In a
  /// pass, an alias of this name for the same variable may exist already.
  void alias(std::string_view name, Variable variable,
             SourceLocation loc = SourceLocation::current()) const;
  /// Returns the trainable parameters in and below this scope, in creation order. At the root,
  /// returns all trainable parameters.
  std::vector<Variable> parameters() const;
  /// Names a value in this scope, so that it can be fetched by name.
  void set_name(std::string_view name, Value value,
                SourceLocation loc = SourceLocation::current()) const {
    graph_->set_name(join(name), value, loc);
  }

 private:
  struct Pass;

  Graph* graph_;
  std::string path_;
  std::shared_ptr<Pass> pass_ = {};
};

}  // namespace weft

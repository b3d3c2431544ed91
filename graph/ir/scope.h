// Scopes: dotted names for variables and nodes, and the mode in which layers are built.
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

/// What layers like dropout and batch norm are built for.
enum class Mode : std::uint8_t { training, evaluation };

/// A place in the tree of names: `Scope net(g, "net"); net / "block" / 3` is "net.block.3".
///
/// A model that is one function of a scope is built in both modes by calling it twice:
///
///   Value cnn(const Scope& net, Value images) { ... dropout(net, h, 0.1) ... }
///
///   const Scope net(g, "net");
///   const Value loss = cross_entropy(cnn(net.training(), images), labels);
///   const Value logits = cnn(net.evaluation(), images);
///
/// Each call of training() and evaluation() begins a pass over the model: what an earlier pass has
/// declared is found again by its name. A layer that differs by mode throws a GraphError in a scope
/// without one.
class Scope {
 public:
  Scope(Graph& graph, std::string path = {}) : graph_(&graph), path_(std::move(path)) {}

  Graph& graph() const { return *graph_; }
  const std::string& path() const { return path_; }
  /// "path.name", or just the name at the root.
  std::string join(std::string_view name) const;

  friend Scope operator/(const Scope& scope, std::string_view name) {
    Scope below = scope;
    below.path_ = scope.join(name);
    return below;
  }
  friend Scope operator/(const Scope& scope, std::integral auto index) {
    return scope / std::string_view(std::to_string(index));
  }

  /// This place at the beginning of a pass in that mode. Scopes below it are of the same pass.
  Scope training() const { return in(Mode::training); }
  Scope evaluation() const { return in(Mode::evaluation); }
  Scope in(Mode mode) const;
  /// Absent outside of passes.
  std::optional<Mode> mode() const;
  /// Whether `layer` is built for training. Throws GraphError where this scope has no mode, with
  /// what to write.
  bool is_training(std::string_view layer, SourceLocation loc = SourceLocation::current()) const;

  /// A variable in this scope. In a pass, one that is there already is found again: DTypeError or
  /// ShapeError where its type is another one, GraphError where its kind is, or where this pass has
  /// asked for the name before. Outside, declaring a name twice is a GraphError: share the Variable
  /// instead.
  Variable variable(std::string_view name, DType dtype, std::initializer_list<AxisSize> sizes,
                    VariableOptions options = {},
                    SourceLocation loc = SourceLocation::current()) const;
  Variable variable(std::string_view name, const ValueType& type, VariableOptions options = {},
                    SourceLocation loc = SourceLocation::current()) const;
  /// The trainable parameters at and below this place, in order of creation; at the root all.
  std::vector<Variable> parameters() const;
  /// Names a value below this scope, so that it can be fetched.
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

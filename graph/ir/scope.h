// Scopes: dotted names for variables and nodes.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include "weft/graph/ir/graph.h"

namespace weft {

/// A place in the tree of names: `Scope net(g, "net"); net / "block" / 3` is "net.block.3".
class Scope {
 public:
  Scope(Graph& graph, std::string path = {}) : graph_(&graph), path_(std::move(path)) {}

  Graph& graph() const { return *graph_; }
  const std::string& path() const { return path_; }
  /// "path.name", or just the name at the root.
  std::string join(std::string_view name) const;

  friend Scope operator/(const Scope& scope, std::string_view name) {
    return Scope(*scope.graph_, scope.join(name));
  }
  friend Scope operator/(const Scope& scope, std::integral auto index) {
    return Scope(*scope.graph_, scope.join(std::to_string(index)));
  }

  /// A variable in this scope. Declaring the same name twice is an error: share the Variable
  /// instead.
  Variable variable(std::string_view name, DType dtype, std::initializer_list<AxisSize> sizes,
                    VariableOptions options = {},
                    SourceLocation loc = SourceLocation::current()) const {
    return graph_->variable(join(name), dtype, sizes, options, loc);
  }
  Variable variable(std::string_view name, const ValueType& type, VariableOptions options = {},
                    SourceLocation loc = SourceLocation::current()) const {
    return graph_->variable(join(name), type, options, loc);
  }
  /// Names a value below this scope, so that it can be fetched.
  void set_name(std::string_view name, Value value,
                SourceLocation loc = SourceLocation::current()) const {
    graph_->set_name(join(name), value, loc);
  }

 private:
  Graph* graph_;
  std::string path_;
};

}  // namespace weft

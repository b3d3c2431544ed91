// Copies nodes from one graph to another. Used by optimisation passes, dtype conversion and
// loading.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

/// A program together with the graph that contains its nodes. Passes map Modules to Modules.
struct Module {
  std::unique_ptr<Graph> graph;
  Program program;
};

/// Callback that rewrites one node while a program is copied. `inputs` are the copies of the node's
/// inputs (already rewritten). Returns the values that replace the node's outputs in `target`, or
/// an empty vector to copy the node unchanged. Function bodies are not rewritten.
using RewriteNode = std::function<std::vector<Value>(
    const Node& node, const std::vector<Value>& inputs, Graph& target)>;

class Cloner;

struct CloneOptions {
  /// Rewrites nodes while they are copied. Optional.
  RewriteNode rewrite = {};
  /// Maps dtypes of the source to dtypes of the target. Optional.
  std::function<DType(DType)> map_dtype = {};
  /// Maps a symbol of the source to a Dim of the target, for example to the caller's dims when a
  /// function is inlined at a call; nullopt keeps the symbol. Optional.
  std::function<std::optional<Dim>(const SymbolPtr&)> map_symbol = {};
  /// Offset added to the stream numbers of the source (see draws.h).
  std::int64_t first_stream = 0;
  /// If set, incremented for each node visited and each of its operands.
  std::int64_t* steps = nullptr;
  /// Called after the inputs and variables of a program are copied, and before any other node. The
  /// callback may copy nodes in a different order and map values with Cloner::set. Optional.
  std::function<void(Cloner&)> copy_first = {};
};

/// Returns a graph without nodes that has the operations, symbols and requirements of `source`, so
/// that nodes of `source` can be copied into it.
std::unique_ptr<Graph> empty_copy(const Graph& source);

/// Copies `program` and everything that it depends on into a new graph: inputs, variables (with
/// kinds, initialisers and aliases), functions, requirements, names and source locations. Symbols
/// are shared with the source graph.
Module clone_program(const Program& program, const CloneOptions& options = {});

/// Copies nodes into `target` and records the mapping from source values to their copies.
class Cloner {
 public:
  Cloner(Graph& target, CloneOptions options = {});
  /// Maps `from` to `to`, for example the inputs of a function body to the operands of a call.
  void set(Value from, Value to);
  /// Returns the copy of `value`. If there is no copy yet, first copies `value` and everything that
  /// it depends on. The implementation is iterative, so deep graphs do not exhaust the stack.
  Value copy(Value value);
  /// Returns the copy of `value`, or an undefined Value if it has not been copied.
  Value find(Value value) const;
  /// Returns the name in the target of the function `name` of `source`. Copies the function if
  /// needed.
  const std::string& copy_function(const Graph& source, const std::string& name);
  Graph& target() const { return target_; }

 private:
  void copy_node(const Node& node);

  Graph& target_;
  CloneOptions options_;
  std::unordered_map<Value, Value, ValueHash> map_;
  std::unordered_map<const Function*, std::string> functions_;  // names in the target
};

}  // namespace weft

// Copying nodes from one graph to another: what passes, retype and loading build on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

/// A graph of its own with a program over it: what passes take and give.
struct Module {
  std::unique_ptr<Graph> graph;
  Program program;
};

/// Rewrites one node while a program is copied. `inputs` are the copies of the node's inputs
/// (already rewritten). Returns the values to use for the node's outputs in `target`, or an empty
/// vector to copy the node as it is. Functions are copied as they are.
using RewriteNode = std::function<std::vector<Value>(
    const Node& node, const std::vector<Value>& inputs, Graph& target)>;

class Cloner;

struct CloneOptions {
  RewriteNode rewrite = {};                    // may be empty
  std::function<DType(DType)> map_dtype = {};  // may be empty: keeps dtypes
  /// What a symbol of the source becomes (the caller's dims, when a function body is put in place
  /// of a call); nullopt keeps it. May be empty.
  std::function<std::optional<Dim>(const SymbolPtr&)> map_symbol = {};
  /// The number that stream 0 of the source becomes (see draws.h).
  std::int64_t first_stream = 0;
  /// Counts nodes copied and operands looked at, if given.
  std::int64_t* steps = nullptr;
  /// Called when a program's inputs and variables are copied and nothing else is: may copy nodes in
  /// an order of its own and say what values become (Cloner::set). May be empty.
  std::function<void(Cloner&)> copy_first = {};
};

/// Copies what `program` needs into a graph of its own: inputs, variables (with kinds,
/// initialisers, aliases), functions, requirements, names and places. Symbols are shared with the
/// source graph.
Module clone_program(const Program& program, const CloneOptions& options = {});

/// Copies nodes one by one into `target`, remembering what became what.
class Cloner {
 public:
  Cloner(Graph& target, CloneOptions options = {});
  /// Says what `from` is in the target (for inputs of a function body, say).
  void set(Value from, Value to);
  /// The copy of `value`, made (with all it needs) if it is not there yet. Iterative.
  Value copy(Value value);
  /// The copy of `value` if it was made already, else undefined.
  Value find(Value value) const;
  Graph& target() const { return target_; }

 private:
  void copy_node(const Node& node);
  /// The name that function `name` of `source` has in the target, copied if it is not there yet.
  const std::string& copy_function(const Graph& source, const std::string& name);

  Graph& target_;
  CloneOptions options_;
  std::unordered_map<Value, Value, ValueHash> map_;
  std::unordered_map<const Function*, std::string> functions_;  // names in the target
};

}  // namespace weft

// Programs: what a Session runs.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/graph/ir/graph.h"
#include "weft/ops/precision.h"

namespace WEFT_API weft {

/// New values of variables, applied together at the end of a run.
class Updates {
 public:
  using Entry = std::pair<Variable, Value>;
  Updates() = default;
  Updates(std::initializer_list<Entry> entries) : entries_(entries) {}
  /// Adds one update, or all of `more`.
  void add(Variable variable, Value value) { entries_.emplace_back(variable, value); }
  void add(const Updates& more) {
    entries_.insert(entries_.end(), more.entries_.begin(), more.entries_.end());
  }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

 private:
  std::vector<Entry> entries_;
};

/// How the batch of a program is cut (functions/shards.h says what the parts are for).
struct Shards {
  int count = 1;
  /// What inputs are cut along, if they are fed whole: the symbol that is their first size. Those
  /// that do not begin with it are fed to every shard as they are.
  std::string axis = "batch";
  friend bool operator==(const Shards&, const Shards&) = default;
};

/// Named outputs and updates over one graph. A value type: copies are independent.
class Program {
 public:
  explicit Program(std::string name) : name_(std::move(name)) {}

  /// Adds a named output; a repeated name is a GraphError.
  Program& output(std::string_view name, Value value,
                  SourceLocation loc = SourceLocation::current());
  /// Adds an update. The value must have the variable's dtype and shape (ShapeError, DTypeError); a
  /// second update of a variable is a GraphError.
  Program& update(Variable variable, Value value, SourceLocation loc = SourceLocation::current());
  Program& update(const Updates& updates, SourceLocation loc = SourceLocation::current());
  /// Accuracy of the program's matrix products; nodes may have their own. Without one the Session's
  /// default counts (SessionOptions::precision).
  Program& precision(std::optional<Precision> precision);

  /// What stands before a shard_sum() is computed for each of `shards.count` parts of the batch,
  /// what stands behind it once. Bits depend on the count, and neither on threads nor on who
  /// computes which shard. Throws ArgumentError unless the count is a power of two, from 1 (the
  /// default: nothing is cut) to 2^20.
  Program& shards(Shards shards);

  const std::string& name() const { return name_; }
  const Shards& shards() const { return shards_; }
  std::optional<Precision> precision() const { return precision_; }
  const std::vector<std::pair<std::string, Value>>& outputs() const { return outputs_; }
  /// All updates: those given, then those that come with values that the program computes
  /// (with_update() in functions/state.h: running statistics of a batch norm that trains, say),
  /// then one for every random key that this program draws from (keys advance only in programs that
  /// draw). One that is given stands in place of one that comes with a value. Throws GraphError
  /// where a variable would get two values.
  Updates updates() const;
  /// Only the updates given. Cheap.
  const Updates& given_updates() const { return updates_; }
  /// The graph, or null while the program is empty.
  Graph* graph() const { return graph_; }
  /// Outputs, then update values.
  std::vector<Value> roots() const;
  /// Every node that the roots need, by increasing id (a topological order).
  std::vector<Node*> nodes() const;
  /// The inputs that the roots need, by order of declaration.
  std::vector<Value> inputs() const;
  /// Variables that are read or updated, by order of declaration.
  std::vector<Variable> variables() const;

 private:
  void adopt(Value value, std::string_view what, SourceLocation loc);
  void add_attached(const std::vector<Node*>& nodes, Updates& updates) const;

  std::string name_;
  std::optional<Precision> precision_;
  Shards shards_;
  Graph* graph_ = nullptr;
  std::vector<std::pair<std::string, Value>> outputs_;
  Updates updates_;
};

/// The one graph that programs are over; empty programs count for none, so that it may be null.
/// Throws GraphError, which names the program, where there are several.
Graph* common_graph(const std::vector<Program>& programs);

/// Every node that `roots` need, by increasing id. Iterative.
std::vector<Node*> reachable_nodes(const std::vector<Value>& roots);

}  // namespace weft

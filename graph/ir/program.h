// Program: named outputs and variable updates over one graph. A Session runs programs.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/graph/ir/graph.h"
#include "weft/ops/precision.h"

namespace WEFT_API weft {

/// New values of variables. All updates are applied together at the end of a run.
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

/// The partition of a program's batch into shards (see functions/shards.h).
struct Shards {
  int count = 1;
  /// The batch symbol. If the whole batch is fed, inputs whose first axis has this symbol as its
  /// size are sliced along it; other inputs are passed unchanged to every shard.
  std::string axis = "batch";
  friend bool operator==(const Shards&, const Shards&) = default;
};

/// Named outputs and updates over one graph. A value type: copies are independent of each other.
class Program {
 public:
  explicit Program(std::string name) : name_(std::move(name)) {}

  /// Adds a named output. Throws GraphError if the program has an output of this name.
  Program& output(std::string_view name, Value value,
                  SourceLocation loc = SourceLocation::current());
  /// Adds an update. Throws DTypeError or ShapeError unless the value has the variable's dtype and
  /// shape, and GraphError for a second update of the same variable.
  Program& update(Variable variable, Value value, SourceLocation loc = SourceLocation::current());
  Program& update(const Updates& updates, SourceLocation loc = SourceLocation::current());
  /// Sets the precision of the program's matrix products. Individual nodes may override it. If not
  /// set, the Session's default applies (SessionOptions::precision).
  Program& precision(std::optional<Precision> precision);
  /// If set, results of a row (a text, or a position of a text) have the same bits regardless of
  /// the other rows of the batch, of padding, of the chunks in which a prompt is read, and of
  /// whether keys and values are cached or recomputed. Saved with the program. The default of
  /// programs that do not set it is SessionOptions::batch_invariant. docs/batch-invariance.md lists
  /// the conditions, the exceptions and the cost.
  Program& batch_invariant(bool on = true);
  /// Copies the precision and the batch invariance of `other`.
  Program& take_options(const Program& other);

  /// Splits the batch into `shards.count` shards. Values before a shard_sum() are computed once per
  /// shard, values after it once per step. Results depend bitwise on the count, but not on the
  /// number of threads or on which rank computes which shard. Throws ArgumentError unless the count
  /// is a power of two from 1 (the default: the batch is not split) to 2^20.
  Program& shards(Shards shards);

  const std::string& name() const { return name_; }
  const Shards& shards() const { return shards_; }
  std::optional<Precision> precision() const { return precision_; }
  bool is_batch_invariant() const { return batch_invariant_; }
  const std::vector<std::pair<std::string, Value>>& outputs() const { return outputs_; }
  /// Returns all updates, in this order:
  /// - explicit updates, added with update();
  /// - updates attached to values that the program computes (with_update() in functions/state.h,
  ///   for example the running statistics of a batch norm in training mode);
  /// - one update for every random key that the program draws from. A key advances only in programs
  ///   that draw from it.
  ///
  /// An explicit update replaces an implicit one of the same variable. Throws GraphError if a
  /// variable would get two different values.
  Updates updates() const;
  /// Returns only the explicit updates, without a search of the graph.
  const Updates& given_updates() const { return updates_; }
  /// Returns the graph, or null while the program is empty.
  Graph* graph() const { return graph_; }
  /// Returns the output values, then the update values.
  std::vector<Value> roots() const;
  /// Returns every node that the roots depend on, in order of increasing id, which is a topological
  /// order.
  std::vector<Node*> nodes() const;
  /// Returns the inputs that the roots depend on, in declaration order.
  std::vector<Value> inputs() const;
  /// Returns the variables that are read or updated, in declaration order.
  std::vector<Variable> variables() const;

 private:
  void adopt(Value value, std::string_view what, SourceLocation loc);
  void add_attached(const std::vector<Node*>& nodes, Updates& updates) const;

  std::string name_;
  std::optional<Precision> precision_;
  bool batch_invariant_ = false;
  Shards shards_;
  Graph* graph_ = nullptr;
  std::vector<std::pair<std::string, Value>> outputs_;
  Updates updates_;
};

/// Returns the graph that all programs share, or null if all programs are empty. Throws a
/// GraphError that names the programs if they use different graphs.
Graph* common_graph(const std::vector<Program>& programs);

/// Returns every node that `roots` depend on, in order of increasing id. The implementation is
/// iterative, so deep graphs do not exhaust the stack.
std::vector<Node*> reachable_nodes(const std::vector<Value>& roots);

}  // namespace weft

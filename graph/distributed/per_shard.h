// Determines which values of a sharded program exist once per shard and which exist once per
// step.
#pragma once

#include <unordered_set>
#include <vector>

#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// Analyses nodes and everything that they need, in graph order (reachable_nodes()). A value
/// differs by shard if it depends, other than through a shard_sum() or shard_concat(), on
/// - an input that is not a scalar,
/// - a random draw that feeds a shard_sum() or shard_concat() (all other draws belong to the step),
/// - a symbol, in its sizes or attributes, because sizes differ by shard. Symbols for the rows of a
///   shard_concat() are excluded, because they count the rows of all shards.
class PerShard {
 public:
  explicit PerShard(const std::vector<Node*>& nodes);

  /// Returns true if the value differs by shard.
  bool varies(Value value) const { return at(value).varies; }
  /// Returns the maximum number of shard_sum() and shard_concat() nodes on a path to the value. It
  /// can be computed as soon as all shards have computed the operands of the last one.
  int level(Value value) const { return at(value).level; }
  /// Returns true if the value depends on random draws, other than through a join of shards.
  bool drawn(Value value) const { return at(value).drawn; }
  /// Returns true if a shard_sum() or shard_concat() needs the value.
  bool feeds_join(Value value) const { return at(value).feeds_join; }
  /// The shard_sum() and shard_concat() nodes, in graph order.
  const std::vector<Node*>& sums() const { return sums_; }
  const std::vector<Node*>& concats() const { return concats_; }
  /// Returns true if all symbols of `dim` count the rows of shard_concat() nodes, so that `dim` has
  /// the same value for all shards.
  bool of_all_shards(const Dim& dim) const;

 private:
  struct Facts {
    bool varies = false;
    bool drawn = false;
    bool feeds_join = false;
    int level = 0;
  };
  const Facts& at(Value value) const { return facts_[value.node().id()]; }
  bool has_sizes_of_shard(Node& node) const;

  std::vector<Facts> facts_;  // indexed by node id
  std::vector<Node*> sums_, concats_;
  std::unordered_set<SymbolPtr> rows_;  // symbols that count the rows of all shards
};

/// Return true if the node is a shard_sum(), a shard_concat(), or either of the two. These nodes
/// join the values of all shards into one value.
bool is_shard_sum(const Node& node);
bool is_shard_concat(const Node& node);
inline bool joins_shards(const Node& node) { return is_shard_sum(node) || is_shard_concat(node); }

}  // namespace weft

// Which values a program with shards has once per shard, and which once.
#pragma once

#include <unordered_set>
#include <vector>

#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// Looks at nodes and all that they need, in order of their graph (reachable_nodes()). Values that
/// differ by shard are those that depend, other than through a shard_sum() or shard_concat(), on
/// - an input that is no scalar,
/// - a random draw on the way to one of these (all other draws are the step's own),
/// - a symbol, in their sizes or attributes: every shard has sizes of its own. The rows of
///   shard_concat() are those of all shards.
class PerShard {
 public:
  explicit PerShard(const std::vector<Node*>& nodes);

  /// Whether the value differs by shard.
  bool varies(Value value) const { return at(value).varies; }
  /// How many joins of shards stand before the value, one behind the other: it can be computed when
  /// all shards are done with what comes before the last of them.
  int level(Value value) const { return at(value).level; }
  /// Whether the value is made of random draws, other than through a join of shards.
  bool drawn(Value value) const { return at(value).drawn; }
  /// Whether the value is needed for a join of shards.
  bool feeds_join(Value value) const { return at(value).feeds_join; }
  /// The shard_sum() and the shard_concat() nodes, in order.
  const std::vector<Node*>& sums() const { return sums_; }
  const std::vector<Node*>& concats() const { return concats_; }
  /// Whether all symbols of `dim` count the rows of shard_concat() nodes: it is the same
  /// everywhere.
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

  std::vector<Facts> facts_;  // by node
  std::vector<Node*> sums_, concats_;
  std::unordered_set<SymbolPtr> rows_;  // of all shards
};

/// Whether the node makes one value of those of all shards: a shard_sum() or a shard_concat().
bool is_shard_sum(const Node& node);
bool is_shard_concat(const Node& node);
inline bool joins_shards(const Node& node) { return is_shard_sum(node) || is_shard_concat(node); }

}  // namespace weft

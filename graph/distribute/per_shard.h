// Which values a program with shards has once per shard, and which once.
#pragma once

#include <vector>

#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// Looks at nodes and all that they need, in order of their graph (reachable_nodes()). Values that
/// differ by shard are those that depend, other than through a shard_sum(), on
/// - an input that is no scalar,
/// - a random draw on the way to a shard_sum() (all other draws are the step's own),
/// - a symbol, in their sizes or attributes: every shard has sizes of its own.
class PerShard {
 public:
  explicit PerShard(const std::vector<Node*>& nodes);

  /// Whether the value differs by shard.
  bool varies(Value value) const { return at(value).varies; }
  /// How many shard_sum() stand before the value, one behind the other: it can be computed when all
  /// shards are done with what comes before the last of them.
  int level(Value value) const { return at(value).level; }
  /// Whether the value is made of random draws, other than through a shard_sum().
  bool drawn(Value value) const { return at(value).drawn; }
  /// Whether the value is needed for a shard_sum().
  bool feeds_sum(Value value) const { return at(value).feeds_sum; }
  /// The shard_sum() nodes, in order.
  const std::vector<Node*>& sums() const { return sums_; }

 private:
  struct Facts {
    bool varies = false;
    bool drawn = false;
    bool feeds_sum = false;
    int level = 0;
  };
  const Facts& at(Value value) const { return facts_[value.node().id()]; }

  std::vector<Facts> facts_;  // by node
  std::vector<Node*> sums_;
};

/// Whether the node is a shard_sum().
bool is_shard_sum(const Node& node);

}  // namespace weft

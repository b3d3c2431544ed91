// Queries that passes make on a program: the op of a node, and the consumers of a value.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "weft/graph/ir/program.h"

namespace weft {

/// Returns true if `node` applies `op`.
inline bool is(const Node& node, std::string_view op) { return node.op().name == op; }
/// Returns true if a node of `op` produces `value`; false for an undefined value.
inline bool is(const Value& value, std::string_view op) {
  return value.defined() && is(value.node(), op);
}

/// Returns true if the node may reject data when it runs: an index out of range, or an integer
/// division by zero. Kernels check only integers.
bool may_reject_data(const Node& node);

/// A use of a value: operand `operand` of `node`.
struct Use {
  Node* node = nullptr;
  std::size_t operand = 0;
};

/// The consumers of the values of a program: nodes that read them as operands, and the program
/// itself, which uses its roots (outputs and updates). This is a snapshot: it does not include
/// nodes that are built later.
class Consumers {
 public:
  explicit Consumers(const Program& program);

  /// The nodes of the program in topological order.
  const std::vector<Node*>& nodes() const { return nodes_; }
  /// The operands that read `value`, in the order of their nodes.
  std::span<const Use> uses(const Value& value) const;
  /// The nodes that read any output of `node`, without duplicates, in topological order.
  std::vector<Node*> readers(Node& node) const;
  /// Returns true if `value`, or any output of `node`, is an output or update of the program.
  bool is_root(const Value& value) const { return roots(value) > 0; }
  bool is_root(Node& node) const;
  /// Returns the number of operands, outputs and updates that use `value`.
  std::size_t count(const Value& value) const { return uses(value).size() + roots(value); }

 private:
  /// Index of a value's entries, or kNone for a value of a node that is not in the snapshot.
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t slot(const Value& value) const;
  std::size_t roots(const Value& value) const;

  std::vector<Node*> nodes_;
  std::vector<std::size_t> first_slot_;  // indexed by node id: the slot of output 0
  std::vector<std::size_t> first_use_;   // indexed by slot; the last entry is the end
  std::vector<Use> uses_;                // sorted by slot, then topologically
  std::vector<std::size_t> roots_;       // indexed by slot: number of outputs and updates
};

}  // namespace weft

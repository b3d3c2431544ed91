// What passes look for in a program: nodes of an op, and who consumes a value.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "weft/graph/ir/program.h"

namespace weft {

/// Whether `node` applies `op`.
inline bool is(const Node& node, std::string_view op) { return node.op().name == op; }
/// Whether a node of `op` makes `value`; no node makes an undefined value.
inline bool is(const Value& value, std::string_view op) {
  return value.defined() && is(value.node(), op);
}

/// Whether the node may refuse data when it runs: an index out of range, a whole number that is
/// divided by zero. Kernels look at nothing but integers for that.
bool may_refuse_data(const Node& node);

/// An operand of a node.
struct Use {
  Node* node = nullptr;
  std::size_t operand = 0;
};

/// Who consumes the values of a program: nodes that read them as operands, and the program itself,
/// which takes its roots (outputs and updates). A snapshot: nodes that are built later are not in
/// it.
class Consumers {
 public:
  explicit Consumers(const Program& program);

  /// The nodes of the program in topological order.
  const std::vector<Node*>& nodes() const { return nodes_; }
  /// The operands that read `value`, in the order of their nodes.
  std::span<const Use> uses(const Value& value) const;
  /// The nodes that read some output of `node`, each once, in topological order.
  std::vector<Node*> readers(Node& node) const;
  /// Whether outputs or updates take `value`, or some output of `node`.
  bool is_root(const Value& value) const { return roots(value) > 0; }
  bool is_root(Node& node) const;
  /// How many operands, outputs and updates take `value`.
  std::size_t count(const Value& value) const { return uses(value).size() + roots(value); }

 private:
  /// Where the entries of a value stand; kNone for a value of a later node.
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t slot(const Value& value) const;
  std::size_t roots(const Value& value) const;

  std::vector<Node*> nodes_;
  std::vector<std::size_t> first_slot_;  // by node id: the slot of output 0
  std::vector<std::size_t> first_use_;   // by slot, and the end
  std::vector<Use> uses_;                // by slot, then in topological order
  std::vector<std::size_t> roots_;       // by slot: how many outputs and updates
};

}  // namespace weft

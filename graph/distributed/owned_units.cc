#include "weft/graph/distributed/owned_units.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_set>
#include <utility>

#include "weft/graph/distributed/split_shards.h"
#include "weft/ops/reductions/reduce_blocks.h"

namespace weft {
namespace {

// Special unit numbers for scalars that belong to no unit (all ranks can compute them) or to
// several units.
constexpr int kNoUnit = -1, kMultipleUnits = -2;

int joined(int a, int b) { return a == kNoUnit ? b : b == kNoUnit || a == b ? a : kMultipleUnits; }

bool is_block_sums(const Node& node) { return node.op().name == "block_sums"; }

// Returns true for small values, which ranks exchange: scalars, and sums over blocks.
bool is_small(const Node& node) {
  if (is_block_sums(node)) return true;
  for (int i = 0; i < node.output_count(); ++i) {
    if (node.type(i).shape.rank() > 0) return false;
  }
  return true;
}

class Finder {
 public:
  Finder(const Program& step, const std::function<bool(std::size_t)>& private_sum,
         const std::function<bool(const Variable&)>& private_variable)
      : step_(step),
        updates_(step.updates()),
        private_sum_(private_sum),
        private_variable_(private_variable) {
    std::vector<Value> roots = step.roots();
    for (const auto& [variable, value] : updates_) {
      roots.push_back(variable.value());
      updated_.insert(&variable.value().node());
    }
    nodes_ = reachable_nodes(roots);
    parent_.resize(nodes_.empty() ? 0 : nodes_.back()->id() + 1);
    std::iota(parent_.begin(), parent_.end(), 0);
    groups_.resize(parent_.size());
  }

  void find() {
    join();
    for (Node* node : nodes_) classify(*node);
    for (const auto& [name, value] : step_.outputs()) {
      if (!is_small(value.node())) group(value.node()).replicated = true;
    }
    check_dtypes();
    // Repeat until nothing changes: a group that becomes replicated can change the owners of
    // others.
    while (find_owners()) {
    }
  }

  void write(std::vector<OwnedUnit>& units, std::vector<OwnedUnits::UnitScalar>& unit_scalars) {
    std::vector<int> roots;
    for (Node* node : nodes_) {
      if (!is_small(*node) && root(*node) == static_cast<int>(node->id()) && owned(*node))
        roots.push_back(root(*node));
    }
    for (const int r : roots) {
      std::vector<std::size_t>& sums = groups_[static_cast<std::size_t>(r)].sums;
      std::sort(sums.begin(), sums.end());
    }
    std::sort(roots.begin(), roots.end(), [&](int a, int b) {
      return groups_[static_cast<std::size_t>(a)].sums[0] <
             groups_[static_cast<std::size_t>(b)].sums[0];
    });
    std::vector<std::size_t> number(groups_.size());
    for (const int r : roots) {
      Group& g = groups_[static_cast<std::size_t>(r)];
      number[static_cast<std::size_t>(r)] = units.size();
      // With several sums, a range of elements would consist of several memory ranges.
      const bool cut = g.elementwise && g.sums.size() == 1;
      units.push_back({.range = cut ? g.elements : 0, .sums = g.sums});
    }
    for (const auto& [variable, value] : updates_) {
      Node& node = variable.value().node();
      if (is_small(node) || !owned(node)) continue;
      OwnedUnit& unit = units[number[static_cast<std::size_t>(root(node))]];
      (is_state(variable) ? unit.state : unit.parameters).push_back(variable);
    }
    for (const auto& [node, r] : found_scalars_)
      unit_scalars.push_back({node->output(0), number[static_cast<std::size_t>(r)]});
  }

 private:
  // A group of values that are connected by more than scalars.
  struct Group {
    bool replicated = false;  // all ranks compute it
    bool elementwise = true;
    std::optional<Shape> shape;  // common shape of its values if it is elementwise
    std::int64_t elements = 0;
    std::vector<std::size_t> sums;
    DType dtype = DType::f32;  // dtype of the sums
    bool updates = false;
  };

  int root(const Node& node) {
    auto n = static_cast<int>(node.id());
    while (parent_[static_cast<std::size_t>(n)] != n) {
      int& above = parent_[static_cast<std::size_t>(n)];
      above = parent_[static_cast<std::size_t>(above)];
      n = above;
    }
    return n;
  }
  Group& group(const Node& node) { return groups_[static_cast<std::size_t>(root(node))]; }
  bool owned(const Node& node) {
    const Group& g = group(node);
    return !g.replicated && g.updates && !g.sums.empty();
  }
  bool is_state(const Variable& variable) const {
    return variable.info().kind == VariableKind::optimizer && private_variable_(variable);
  }

  void join() {
    const auto unite = [&](const Node& a, const Node& b) {
      parent_[static_cast<std::size_t>(root(a))] = root(b);
    };
    for (Node* node : nodes_) {
      const Node* one = is_small(*node) ? nullptr : node;
      for (const Value& v : node->inputs()) {
        if (!v.defined() || is_small(v.node())) continue;
        if (one != nullptr) unite(*one, v.node());
        one = &v.node();
      }
    }
    for (const auto& [variable, value] : updates_) {
      if (!is_small(variable.value().node()) && !is_small(value.node()))
        unite(variable.value().node(), value.node());
    }
  }

  void classify(Node& node) {
    if (is_small(node)) return;
    Group& g = group(node);
    const std::string& op = node.op().name;
    if (op == "input") {
      const std::optional<std::size_t> sum =
          shard_names::number_of_sum(node.attributes().text("name"));
      if (sum && private_sum_(*sum)) {
        if (g.sums.empty()) g.dtype = node.type(0).dtype;
        g.replicated = g.replicated || g.dtype != node.type(0).dtype;
        g.sums.push_back(*sum);
      } else {
        g.replicated = true;
      }
    } else if (op == "variable") {
      const VariableKind kind = Variable(node.output(0)).info().kind;
      const bool known = kind == VariableKind::parameter || kind == VariableKind::optimizer;
      g.replicated = g.replicated || !known;
      g.updates = g.updates || updated_.contains(&node);
    } else if (node.op().has(Trait::random) || !node.op().has(Trait::elementwise) ||
               node.output_count() != 1) {
      g.elementwise = false;
    }
    for (int i = 0; i < node.output_count(); ++i) classify(node.type(i).shape, g);
    for (const Value& v : node.inputs()) {
      // If the shapes differ, the operand is broadcast.
      if (v.defined() && v.rank() > 0 && v.shape() != node.type(0).shape) g.elementwise = false;
    }
  }

  static void classify(const Shape& shape, Group& g) {
    if (!shape.is_constant()) {
      g.replicated = true;
      return;
    }
    if (!g.shape) {
      g.shape = shape;
      g.elements = shape.numel().constant();
    }
    // Partitioning is not worthwhile for few elements.
    if (shape != *g.shape || g.elements <= kSumBlock) g.elementwise = false;
  }

  // All sums are stored in one block of memory that is divided among the ranks, so they must have
  // the same dtype.
  void check_dtypes() {
    std::optional<DType> dtype;
    for (Node* node : nodes_) {
      if (is_small(*node) || !owned(*node)) continue;
      if (!dtype) dtype = group(*node).dtype;
      if (group(*node).dtype != *dtype) group(*node).replicated = true;
    }
  }

  // Finds the cross-unit scalars. Returns true if a group turned out to be replicated.
  bool find_owners() {
    const std::vector<int> from = makers(), to = readers();
    found_scalars_.clear();
    // The number of exchanges that must precede the computation of each node.
    std::vector<int> level(parent_.size());
    const auto at = [](auto& list, const Node& node) -> auto& { return list[node.id()]; };
    for (Node* node : nodes_) {
      const bool small = is_small(*node);
      const bool inside = small && at(from, *node) >= 0 && at(from, *node) == at(to, *node);
      if (inside) groups_[static_cast<std::size_t>(at(from, *node))].elementwise = false;
      bool leaves = false;
      for (const Value& v : node->inputs()) {
        if (!v.defined()) continue;
        at(level, *node) = std::max(at(level, *node), at(level, v.node()));
        leaves = leaves || (!is_small(v.node()) && owned(v.node()));
      }
      if (!small || inside || !leaves) continue;
      Group& g = group(owned_input(*node));
      if (at(level, *node) > 0 || node->output_count() != 1) {
        g.replicated = true;
        return true;
      }
      if (!is_block_sums(*node)) g.elementwise = false;
      ++at(level, *node);
      found_scalars_.emplace_back(node, root(owned_input(*node)));
    }
    return false;
  }

  const Node& owned_input(const Node& node) {
    for (const Value& v : node.inputs()) {
      if (v.defined() && !is_small(v.node()) && owned(v.node())) return v.node();
    }
    return node;
  }

  // Returns, for each small node, the unit that it is computed from.
  std::vector<int> makers() {
    std::vector<int> from(parent_.size(), kNoUnit);
    for (Node* node : nodes_) {
      if (!is_small(*node)) continue;
      int& mine = from[node->id()];
      for (const Value& v : node->inputs()) {
        if (!v.defined()) continue;
        const bool small = is_small(v.node());
        mine = joined(mine, small             ? from[v.node().id()]
                            : owned(v.node()) ? root(v.node())
                                              : kNoUnit);
      }
    }
    return from;
  }

  // Returns, for each small node, the unit that reads it, or kMultipleUnits if it is also read
  // outside of that unit.
  std::vector<int> readers() {
    std::vector<int> to(parent_.size(), kNoUnit);
    const auto read_outside = [&](const Value& v) { to[v.node().id()] = kMultipleUnits; };
    for (const auto& [name, value] : step_.outputs()) read_outside(value);
    for (const auto& [variable, value] : updates_) read_outside(value);
    for (auto it = nodes_.rbegin(); it != nodes_.rend(); ++it) {
      Node& node = **it;
      const int reader = is_small(node) ? to[node.id()] : owned(node) ? root(node) : kMultipleUnits;
      for (const Value& v : node.inputs()) {
        if (!v.defined() || !is_small(v.node())) continue;
        to[v.node().id()] = joined(to[v.node().id()], reader);
      }
    }
    return to;
  }

  const Program& step_;
  const Updates updates_;
  const std::function<bool(std::size_t)>& private_sum_;
  const std::function<bool(const Variable&)>& private_variable_;
  std::vector<Node*> nodes_;
  std::unordered_set<const Node*> updated_;           // nodes of updated variables
  std::vector<int> parent_;                           // union-find over nodes, by id
  std::vector<Group> groups_;                         // indexed by union-find root
  std::vector<std::pair<Node*, int>> found_scalars_;  // with the union-find roots of their groups
};

}  // namespace

OwnedUnits::OwnedUnits(const Program& step, const std::function<bool(std::size_t)>& private_sum,
                       const std::function<bool(const Variable&)>& private_variable) {
  Finder finder(step, private_sum, private_variable);
  finder.find();
  finder.write(units_, unit_scalars_);
}

}  // namespace weft

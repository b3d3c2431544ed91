#include "weft/graph/distribute/per_shard.h"

#include <algorithm>
#include <span>

#include "weft/graph/ir/draws.h"

namespace weft {
namespace {

bool has_symbols(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](const Dim& d) { return !d.is_constant(); });
}

// Whether sizes, or a size that is read as a number, come from symbols.
bool depends_on_symbols(Node& node) {
  for (int i = 0; i < node.output_count(); ++i) {
    if (has_symbols(node.type(i).shape)) return true;
  }
  return std::any_of(node.attributes().begin(), node.attributes().end(), [](const auto& entry) {
    const Attribute& value = entry.second;
    if (const Dim* dim = std::get_if<Dim>(&value)) return !dim->is_constant();
    if (const Shape* shape = std::get_if<Shape>(&value)) return has_symbols(*shape);
    return false;
  });
}

// What the value of a node is made of: the new value of with_update() is no part of it.
std::span<const Value> operands(const Node& node) {
  const std::span<const Value> all = node.inputs();
  return node.op().name == "with_update" ? all.first(1) : all;
}

}  // namespace

bool is_shard_sum(const Node& node) { return node.op().name == "shard_sum"; }

PerShard::PerShard(const std::vector<Node*>& nodes) {
  if (nodes.empty()) return;
  facts_.resize(nodes.back()->id() + 1);
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    if (!is_shard_sum(**it) && !facts_[(*it)->id()].feeds_sum) continue;
    for (const Value& v : operands(**it)) {
      if (v.defined()) facts_[v.node().id()].feeds_sum = true;
    }
  }
  for (Node* node : nodes) {
    Facts& facts = facts_[node->id()];
    for (const Value& v : operands(*node)) {
      if (!v.defined()) continue;
      facts.varies = facts.varies || at(v).varies;
      facts.drawn = facts.drawn || at(v).drawn;
      facts.level = std::max(facts.level, at(v).level);
    }
    if (is_shard_sum(*node)) {
      sums_.push_back(node);
      facts.varies = facts.drawn = false;
      ++facts.level;
      continue;
    }
    const bool fed = node->op().name == "input" && node->type(0).shape.rank() > 0;
    const bool draws_here = draws(*node);
    facts.drawn = facts.drawn || draws_here;
    facts.varies =
        facts.varies || fed || (facts.feeds_sum && draws_here) || depends_on_symbols(*node);
  }
}

}  // namespace weft

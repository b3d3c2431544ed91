#include "weft/graph/distributed/per_shard.h"

#include <algorithm>
#include <span>

#include "weft/graph/ir/draws.h"

namespace weft {
namespace {

// Returns the operands that the value of a node depends on. The new value of with_update() is not
// one of them.
std::span<const Value> operands(const Node& node) {
  const std::span<const Value> all = node.inputs();
  return node.op().name == "with_update" ? all.first(1) : all;
}

}  // namespace

bool is_shard_sum(const Node& node) { return node.op().name == "shard_sum"; }
bool is_shard_concat(const Node& node) { return node.op().name == "shard_concat"; }

bool PerShard::of_all_shards(const Dim& dim) const {
  const std::vector<SymbolPtr> symbols = dim.symbols();
  return std::all_of(symbols.begin(), symbols.end(),
                     [this](const SymbolPtr& s) { return rows_.contains(s); });
}

// Returns true if a size, including sizes that are used as values, contains symbols that differ by
// shard.
bool PerShard::has_sizes_of_shard(Node& node) const {
  const auto differs = [this](const Dim& d) { return !of_all_shards(d); };
  const auto any = [&](const Shape& shape) {
    return std::any_of(shape.begin(), shape.end(), differs);
  };
  for (int i = 0; i < node.output_count(); ++i) {
    if (any(node.type(i).shape)) return true;
  }
  return std::any_of(node.attributes().begin(), node.attributes().end(), [&](const auto& entry) {
    const Attribute& value = entry.second;
    if (const Dim* dim = std::get_if<Dim>(&value)) return differs(*dim);
    if (const Shape* shape = std::get_if<Shape>(&value)) return any(*shape);
    return false;
  });
}

PerShard::PerShard(const std::vector<Node*>& nodes) {
  if (nodes.empty()) return;
  facts_.resize(nodes.back()->id() + 1);
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    if (!joins_shards(**it) && !facts_[(*it)->id()].feeds_join) continue;
    for (const Value& v : operands(**it)) {
      if (v.defined()) facts_[v.node().id()].feeds_join = true;
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
    if (joins_shards(*node)) {
      (is_shard_sum(*node) ? sums_ : concats_).push_back(node);
      if (is_shard_concat(*node)) rows_.insert(node->attributes().dim("rows").as_symbol());
      facts.varies = facts.drawn = false;
      ++facts.level;
      continue;
    }
    const bool fed = node->op().name == "input" && node->type(0).shape.rank() > 0;
    const bool draws_here = draws(*node);
    facts.drawn = facts.drawn || draws_here;
    facts.varies =
        facts.varies || fed || (facts.feeds_join && draws_here) || has_sizes_of_shard(*node);
  }
}

}  // namespace weft

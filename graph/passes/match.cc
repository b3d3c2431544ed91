#include "weft/graph/passes/match.h"

#include <algorithm>
#include <numeric>

namespace weft {

bool may_reject_data(const Node& node) {
  const OpRecord& op = node.op();
  if (op.has(Trait::leaf) || op.has(Trait::alias)) return false;
  if (op.has(Trait::elementwise))
    return (op.name == "div" || op.name == "pow") && is_integer(node.type(0).dtype);
  return std::any_of(node.inputs().begin(), node.inputs().end(),
                     [](const Value& v) { return v.defined() && is_integer(v.dtype()); });
}

Consumers::Consumers(const Program& program) : nodes_(program.nodes()) {
  // Only nodes that the program needs have slots, because the graph may contain many other nodes.
  if (!nodes_.empty()) first_slot_.assign(nodes_.back()->id() + std::size_t{1}, kNone);
  std::size_t slots = 0;
  for (const Node* node : nodes_) {
    first_slot_[node->id()] = slots;
    slots += static_cast<std::size_t>(node->output_count());
  }
  const auto for_each_operand = [&](auto&& fn) {
    for (Node* node : nodes_) {
      for (std::size_t i = 0; i < node->inputs().size(); ++i) {
        if (node->inputs()[i].defined()) fn(slot(node->inputs()[i]), Use{node, i});
      }
    }
  };
  first_use_.assign(slots + 1, 0);
  for_each_operand([&](std::size_t s, Use) { ++first_use_[s + 1]; });
  std::partial_sum(first_use_.begin(), first_use_.end(), first_use_.begin());
  uses_.resize(first_use_.back());
  std::vector<std::size_t> next(first_use_.begin(), first_use_.end() - 1);
  for_each_operand([&](std::size_t s, Use use) { uses_[next[s]++] = use; });
  roots_.assign(slots, 0);
  for (const Value& value : program.roots()) ++roots_[slot(value)];
}

std::size_t Consumers::slot(const Value& value) const {
  const std::size_t id = value.node().id();
  if (id >= first_slot_.size() || first_slot_[id] == kNone) return kNone;
  return first_slot_[id] + static_cast<std::size_t>(value.output());
}

std::span<const Use> Consumers::uses(const Value& value) const {
  const std::size_t s = slot(value);
  if (s == kNone) return {};
  return {uses_.data() + first_use_[s], uses_.data() + first_use_[s + 1]};
}

std::size_t Consumers::roots(const Value& value) const {
  const std::size_t s = slot(value);
  return s == kNone ? 0 : roots_[s];
}

bool Consumers::is_root(Node& node) const {
  for (int i = 0; i < node.output_count(); ++i) {
    if (is_root(node.output(i))) return true;
  }
  return false;
}

std::vector<Node*> Consumers::readers(Node& node) const {
  std::vector<Node*> result;
  for (int i = 0; i < node.output_count(); ++i) {
    for (const Use& use : uses(node.output(i))) result.push_back(use.node);
  }
  std::sort(result.begin(), result.end(),
            [](const Node* a, const Node* b) { return a->id() < b->id(); });
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace weft

#include "weft/graph/ir/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "weft/core/world/shard_tree.h"
#include "weft/graph/ir/draws.h"

namespace weft {

void Program::adopt(Value value, std::string_view what, SourceLocation loc) {
  if (!value.defined()) {
    throw GraphError(
        fmt::format("program '{}': {} is an undefined Value\n  at {}", name_, what, loc.str()));
  }
  if (graph_ == nullptr) graph_ = &value.graph();
  if (graph_ != &value.graph()) {
    // Describes values of the bodies of loops, which are easily taken for values of the graph.
    graph_->check_owned(value, fmt::format("program '{}': {}", name_, what), loc);
    throw GraphError(fmt::format("program '{}': {} ({}) belongs to another graph\n  at {}", name_,
                                 what, value.type().str(), loc.str()));
  }
}

Program& Program::output(std::string_view name, Value value, SourceLocation loc) {
  adopt(value, fmt::format("output '{}'", name), loc);
  for (const auto& entry : outputs_) {
    if (entry.first == name) {
      throw GraphError(
          fmt::format("program '{}' already has an output '{}'\n  at {}", name_, name, loc.str()));
    }
  }
  outputs_.emplace_back(std::string(name), value);
  return *this;
}

Program& Program::update(Variable variable, Value value, SourceLocation loc) {
  adopt(variable.value(), "the updated variable", loc);
  const std::string what = fmt::format("program '{}': update of '{}'", name_, variable.name());
  adopt(value, fmt::format("the update of '{}'", variable.name()), loc);
  if (value.dtype() != variable.dtype()) {
    throw DTypeError(fmt::format("{}: the variable is {}, the new value {}\n  at {}", what,
                                 variable.value().type().str(), value.type().str(), loc.str()));
  }
  const Shape &a = variable.shape(), &b = value.shape();
  bool same = a.rank() == b.rank();
  for (int i = 0; same && i < a.rank(); ++i) same = graph_->facts().equal(a[i], b[i]);
  if (!same) {
    throw ShapeError(fmt::format("{}: the variable is {}, the new value {}\n  at {}", what,
                                 variable.value().type().str(), value.type().str(), loc.str()));
  }
  for (const auto& entry : updates_) {
    if (entry.first == variable) {
      throw GraphError(
          fmt::format("{}: the program already updates this variable\n  at {}", what, loc.str()));
    }
  }
  updates_.add(variable, value);
  return *this;
}

Program& Program::update(const Updates& updates, SourceLocation loc) {
  for (const auto& [variable, value] : updates) update(variable, value, loc);
  return *this;
}

Program& Program::precision(std::optional<Precision> precision) {
  precision_ = precision;
  return *this;
}

Program& Program::batch_invariant(bool on) {
  batch_invariant_ = on;
  return *this;
}

Program& Program::take_options(const Program& other) {
  precision_ = other.precision_;
  batch_invariant_ = other.batch_invariant_;
  return *this;
}

Program& Program::shards(Shards shards) {
  check_shards(shards.count, 1);
  shards_ = std::move(shards);
  return *this;
}

// Adds the updates that with_update() has attached to `nodes`.
void Program::add_attached(const std::vector<Node*>& nodes, Updates& updates) const {
  std::map<std::uint32_t, Node*> attached;  // keyed by id of the variable's node
  for (Node* n : nodes) {
    if (n->op().name != "with_update") continue;
    const Value variable = n->input(1), value = n->input(2);
    // In a function body, or in a graph that was parsed from text, the operand may not be a
    // variable. In this case there is nothing to update.
    if (variable.node().op().name != "variable") continue;
    const bool given = std::any_of(updates_.begin(), updates_.end(),
                                   [&](const auto& u) { return u.first.value() == variable; });
    if (given) continue;
    const auto [it, first] = attached.emplace(variable.node().id(), n);
    if (first) {
      updates.add(Variable(variable), value);
    } else if (it->second->input(2) != value) {
      throw GraphError(fmt::format(
          "program '{}' has two new values for '{}': a layer with state is applied twice in "
          "training mode. Concatenate the batches and apply the layer once, or add an explicit "
          "update of the variable to the program\n  first: {}\n  second: {}",
          name_, Variable(variable).name(), graph_->where(*it->second), graph_->where(*n)));
    }
  }
}

Updates Program::updates() const {
  Updates result = updates_;
  if (graph_ == nullptr) return result;
  std::vector<Value> roots;
  for (const auto& o : outputs_) roots.push_back(o.second);
  for (const auto& u : updates_) roots.push_back(u.second);
  const std::vector<Node*> nodes = reachable_nodes(roots);
  add_attached(nodes, result);
  std::vector<Value> drawn;
  for (Node* n : nodes) {
    for (const Value& key : random_keys(*n)) drawn.push_back(key);
  }
  // A key may be derived from other keys (key_fold). The key variables at the leaves are advanced.
  std::vector<Node*> keys;
  for (Node* leaf : reachable_nodes(drawn)) {
    if (leaf->op().name == "variable" && graph_->variable_info(*leaf).kind == VariableKind::key) {
      keys.push_back(leaf);
    }
  }
  for (Node* read : keys) {
    const Variable variable(read->output(0));
    const bool given = std::any_of(updates_.begin(), updates_.end(),
                                   [&](const auto& u) { return u.first == variable; });
    if (given) continue;
    const Value advanced = graph_->advanced_key(variable);
    if (!advanced.defined()) {
      throw GraphError(fmt::format(
          "program '{}' draws from the key '{}', which is {}; a random key is i64[2], and the "
          "graph's op set must contain key_advance",
          name_, variable.name(), variable.value().type().str()));
    }
    result.add(variable, advanced);
  }
  return result;
}

std::vector<Value> Program::roots() const {
  std::vector<Value> result;
  for (const auto& o : outputs_) result.push_back(o.second);
  for (const auto& u : updates()) result.push_back(u.second);
  return result;
}

std::vector<Node*> Program::nodes() const { return reachable_nodes(roots()); }

std::vector<Value> Program::inputs() const {
  std::vector<Value> result;
  for (Node* n : nodes()) {
    if (n->op().name == "input") result.push_back(n->output(0));
  }
  return result;
}

std::vector<Variable> Program::variables() const {
  std::vector<Node*> reads;
  for (Node* n : nodes()) {
    if (n->op().name == "variable") reads.push_back(n);
  }
  for (const auto& u : updates()) reads.push_back(&u.first.value().node());
  std::sort(reads.begin(), reads.end(), [](Node* a, Node* b) { return a->id() < b->id(); });
  reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
  std::vector<Variable> result;
  for (Node* n : reads) result.emplace_back(n->output(0));
  return result;
}

Graph* common_graph(const std::vector<Program>& programs) {
  const Program* first = nullptr;
  for (const Program& program : programs) {
    if (program.graph() == nullptr) continue;
    if (first == nullptr) first = &program;
    if (program.graph() != first->graph()) {
      throw GraphError(fmt::format(
          "program '{}' uses a different graph from '{}'; all programs must use the same graph",
          program.name(), first->name()));
    }
  }
  return first == nullptr ? nullptr : first->graph();
}

std::vector<Node*> reachable_nodes(const std::vector<Value>& roots) {
  std::vector<Node*> stack, result;
  if (roots.empty()) return result;
  const Graph* graph = nullptr;
  for (const Value& v : roots) {
    if (v.defined()) graph = &v.graph();
  }
  if (graph == nullptr) return result;
  std::vector<bool> seen(graph->node_count());
  const auto visit = [&](const Value& v) {
    if (v.defined() && !seen[v.node().id()]) {
      seen[v.node().id()] = true;
      stack.push_back(&v.node());
    }
  };
  for (const Value& v : roots) visit(v);
  while (!stack.empty()) {
    Node* n = stack.back();
    stack.pop_back();
    result.push_back(n);
    for (const Value& v : n->inputs()) visit(v);
  }
  if (result.size() * 16 < seen.size()) {
    std::sort(result.begin(), result.end(), [](Node* a, Node* b) { return a->id() < b->id(); });
    return result;
  }
  // A large part of the graph is reachable, so collecting the nodes by id is cheaper than sorting.
  std::size_t found = 0;
  for (std::size_t id = 0; id < seen.size(); ++id) {
    if (seen[id]) result[found++] = &graph->node(id);
  }
  return result;
}

}  // namespace weft

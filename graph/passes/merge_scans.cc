// Merges loops over the same operands with the same carries into one loop that has the outputs of
// both. The values that the derivative of a loop needs thus become outputs of the loop itself. This
// file also contains the pass that moves computations out of loops (hoist.cc, sink.cc).
#include <algorithm>
#include <map>
#include <memory>

#include "weft/graph/passes/loop.h"
#include "weft/graph/passes/pipeline.h"

namespace weft {
namespace {

using Index = std::size_t;

struct Merged {
  std::vector<const Node*> nodes;
  Function body;
  /// Indexed by node and output: the corresponding output of the merged loop.
  std::vector<std::vector<int>> outputs;
  Node* made = nullptr;  // the merged node in the target
};

bool same_operands(const Node& a, const Node& b) {
  if (a.inputs() != b.inputs() || a.instance() != b.instance()) return false;
  const ScanNode x = scan_node(a), y = scan_node(b);
  return x.carries.size() == y.carries.size() && x.sequences.size() == y.sequences.size() &&
         x.length == y.length && x.reverse == y.reverse && x.stream == y.stream;
}

// Copies the bodies into one graph, which merges equal values. Returns false if their carries
// differ.
bool merge_bodies(Merged& merged) {
  const Node& first = *merged.nodes[0];
  const ScanNode parts = scan_node(first);
  const Index carries = parts.carries.size();
  Function& f = merged.body;
  f.name = parts.function->name;
  f.body = empty_copy(*parts.function->body);
  Graph& body = *f.body;
  for (const Node* node : merged.nodes) {
    const Function& own = *scan_node(*node).function;
    SymbolMap symbols;
    CloneOptions options;
    if (!f.inputs.empty()) {
      symbols = bind_symbols(own, f.inputs);
      options.map_symbol = symbols.lookup();
    }
    Cloner cloner(body, options);
    if (f.inputs.empty()) {
      for (const Value& v : own.inputs) f.inputs.push_back(cloner.copy(v));
    } else {
      for (Index i = 0; i < own.inputs.size(); ++i) cloner.set(own.inputs[i], f.inputs[i]);
    }
    std::vector<int> places;
    for (Index o = 0; o < own.outputs.size(); ++o) {
      const Value v = cloner.copy(own.outputs[o]);
      if (o < carries) {
        if (f.outputs.size() < carries) f.outputs.push_back(v);
        if (!(f.outputs[o] == v)) return false;
        places.push_back(static_cast<int>(o));
        continue;
      }
      const auto begin = f.outputs.begin() + static_cast<std::ptrdiff_t>(carries);
      const auto at = std::find(begin, f.outputs.end(), v);
      places.push_back(static_cast<int>(at - f.outputs.begin()));
      if (at == f.outputs.end()) f.outputs.push_back(v);
    }
    merged.outputs.push_back(std::move(places));
  }
  return true;
}

}  // namespace

Module merge_scans(Module module, const PassOptions& pass) {
  std::vector<std::unique_ptr<Merged>> groups;
  const std::vector<Node*> nodes = module.program.nodes();
  pass.count(nodes.size());
  for (const Node* n : nodes) {
    if (n->op().name != "scan") continue;
    const auto like = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      pass.count(1);
      return same_operands(*group->nodes[0], *n);
    });
    if (like != groups.end()) {
      (*like)->nodes.push_back(n);
    } else {
      groups.push_back(std::make_unique<Merged>());
      groups.back()->nodes.push_back(n);
    }
  }
  std::map<const Node*, std::pair<Merged*, Index>> of_node;
  for (const auto& group : groups) {
    if (group->nodes.size() < 2 || !merge_bodies(*group)) continue;
    for (Index i = 0; i < group->nodes.size(); ++i) of_node[group->nodes[i]] = {group.get(), i};
  }
  if (of_node.empty()) return module;
  CloneOptions options;
  options.steps = pass.steps;
  options.rewrite = [&](const Node& node, const std::vector<Value>& inputs, Graph& target) {
    std::vector<Value> results;
    const auto it = of_node.find(&node);
    if (it == of_node.end()) return results;
    auto& [merged, number] = it->second;
    if (merged->made == nullptr) {
      Attributes attributes = node.attributes();
      attributes.set("body", add_body(target, std::move(merged->body), {}));
      merged->made = &target.apply(node.op(), inputs, std::move(attributes),
                                   node.graph().location(node), node.instance());
      target.copy_source_info(node, *merged->made);
    }
    for (const int o : merged->outputs[number]) results.push_back(merged->made->output(o));
    return results;
  };
  return clone_program(module.program, options);
}

Module hoist_from_scans(Module module, const PassOptions& pass) {
  const std::vector<Node*> nodes = module.program.nodes();
  pass.count(nodes.size());
  if (std::none_of(nodes.begin(), nodes.end(),
                   [](const Node* n) { return n->op().name == "scan"; })) {
    return module;
  }
  std::vector<std::unique_ptr<Loop>> loops;
  CloneOptions options;
  options.steps = pass.steps;
  options.rewrite = [&](const Node& node, const std::vector<Value>& inputs, Graph& target) {
    if (node.op().name != "scan") return std::vector<Value>();
    loops.push_back(std::make_unique<Loop>(node, inputs, target));
    Loop& loop = *loops.back();
    hoist(loop);
    sink(loop);
    return loop.changed ? loop.finish() : std::vector<Value>();
  };
  return clone_program(module.program, options);
}

}  // namespace weft

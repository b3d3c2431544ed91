#include "weft/tests/reference/evaluate_graph.h"

#include <vector>

namespace weft::testing {
namespace {

/// Binds those symbols that are the whole size of an axis of a fed value.
Bindings bind(const Feed& feed) {
  Bindings bindings;
  for (const auto& [value, tensor] : feed) {
    for (int axis = 0; axis < value.rank(); ++axis) {
      const SymbolPtr symbol = value.shape()[axis].as_symbol();
      if (symbol && !bindings.bind(symbol, tensor.size(axis))) {
        throw ShapeError("evaluate_graph: conflicting sizes for the symbol " + symbol->name);
      }
    }
  }
  return bindings;
}

}  // namespace

std::vector<Tensor> evaluate_graph(const std::vector<Value>& values, const Feed& feed) {
  if (values.empty()) return {};
  Graph& graph = values.front().graph();
  const Bindings bindings = bind(feed);

  std::vector<bool> needed(graph.node_count(), false);
  for (const Value& v : values) needed[v.node().id()] = true;
  for (std::size_t id = needed.size(); id-- > 0;) {
    if (!needed[id]) continue;
    for (const Value& input : graph.node(id).inputs()) {
      if (input.defined() && !feed.contains(input)) needed[input.node().id()] = true;
    }
  }

  Feed known = feed;
  for (std::size_t id = 0; id < needed.size(); ++id) {
    Node& node = graph.node(id);
    if (!needed[id] || known.contains(node.output(0))) continue;
    if (node.op().name == "constant") {
      known[node.output(0)] = node.attributes().tensor("value");
      continue;
    }
    if (node.op().name == "input" || node.op().name == "variable") {
      throw GraphError("evaluate_graph: no tensor was fed for " + graph.where(node));
    }
    std::vector<Tensor> inputs;
    for (const Value& input : node.inputs()) {
      inputs.push_back(input.defined() ? known.at(input) : Tensor());
    }
    const std::vector<Tensor> outputs =
        evaluate_op(node.op(), inputs, node.attributes().evaluate(bindings));
    for (int i = 0; i < node.output_count(); ++i) {
      known[node.output(i)] = outputs[static_cast<std::size_t>(i)];
    }
  }
  std::vector<Tensor> results;
  for (const Value& v : values) results.push_back(known.at(v));
  return results;
}

}  // namespace weft::testing

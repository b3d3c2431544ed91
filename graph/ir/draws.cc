#include "weft/graph/ir/draws.h"

#include <algorithm>

#include "weft/graph/ir/program.h"

namespace weft {

bool is_stream(const OpRecord& op, std::string_view name) {
  return name == "stream" && (op.has(Trait::random) || op.has_bodies());
}

std::int64_t stream_count(const Graph& graph, const Function& function) {
  std::int64_t count = 0;
  const Function* f = &function;
  // In hand-written text, gradient functions may form a cycle; the bound on i ends the loop.
  for (std::size_t i = 0; i <= graph.functions().size(); ++i) {
    if (f->body->draws()) count = std::max(count, f->body->stream_end());
    if (f->gradient.empty() || !graph.has_function(f->gradient)) break;
    f = &graph.function(f->gradient);
  }
  return count;
}

std::vector<std::size_t> random_key_inputs(const Function& function) {
  // Bodies contain the functions that they call, so the recursion depth is the nesting depth of
  // function definitions.
  std::vector<Value> inside;
  for (const Node* n : reachable_nodes(function.outputs)) {
    for (const Value& key : random_keys(*n)) inside.push_back(key);
  }
  std::vector<std::size_t> result;
  for (Node* n : reachable_nodes(inside)) {
    const auto formal = std::find(function.inputs.begin(), function.inputs.end(), n->output(0));
    if (formal == function.inputs.end()) continue;
    result.push_back(static_cast<std::size_t>(formal - function.inputs.begin()));
  }
  return result;
}

std::vector<Value> random_keys(const Node& node) {
  if (node.op().has(Trait::random)) {
    const auto i = static_cast<std::size_t>(node.op().input_index("key"));
    if (i >= node.inputs().size() || !node.inputs()[i].defined()) return {};
    return {node.inputs()[i]};
  }
  std::vector<Value> result;
  for (const std::string& body : node.op().bodies) {
    const Function& function = node.graph().function(node.attributes().text(body));
    if (!function.body->draws()) continue;
    // 1 for cond, because its first input is the predicate; otherwise 0.
    const std::size_t first = node.inputs().size() - function.inputs.size();
    for (const std::size_t i : random_key_inputs(function))
      result.push_back(node.inputs()[first + i]);
  }
  return result;
}

bool draws(const Node& node) {
  const Graph& graph = node.graph();
  for (const std::string& body : node.op().bodies) {
    if (stream_count(graph, graph.function(node.attributes().text(body))) > 0) return true;
  }
  return !random_keys(node).empty();
}

Attributes with_streams_from(std::int64_t first, const Node& node, Attributes attributes) {
  if (first != 0 && draws(node)) {
    attributes.set("stream", first + attributes.integer("stream"));
  }
  return attributes;
}

}  // namespace weft

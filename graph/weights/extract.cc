#include "weft/graph/weights/extract.h"

#include "weft/core/error.h"
#include "weft/graph/weights/matrices.h"

namespace weft {

std::vector<Value> needed_values(const Graph& graph, const std::vector<Program>& programs,
                                 bool all_inputs) {
  std::vector<Value> roots;
  if (all_inputs) roots = graph.inputs();
  for (const Program& program : programs) {
    const std::vector<Value> more = program.roots();
    roots.insert(roots.end(), more.begin(), more.end());
    for (const Variable& variable : program.variables()) roots.push_back(variable.value());
  }
  std::vector<char> needed(graph.node_count(), 0);
  for (const Node* node : reachable_nodes(roots)) needed[node->id()] = 1;
  std::vector<char> other(graph.node_count(), 0);  // depends on a leaf that no program reads
  for (std::size_t id = 0; id < other.size(); ++id) {
    const Node& node = graph.node(id);
    const bool leaf = node.op().name == "variable" || node.op().name == "input";
    bool reads = leaf && needed[id] == 0;
    for (const Value& v : node.inputs())
      reads = reads || (v.defined() && other[v.node().id()] != 0);
    other[id] = reads ? 1 : 0;
  }
  for (const auto& [name, value] : graph.names()) {
    if (other[value.node().id()] == 0) roots.push_back(value);
  }
  return roots;
}

std::pair<std::shared_ptr<Graph>, std::vector<Program>> extract(
    const std::vector<Program>& programs) {
  const Graph* source = common_graph(programs);
  if (source == nullptr) throw GraphError("extract: there is no program to extract");
  auto graph = empty_graph_like(*source);
  Cloner cloner(*graph);
  const std::vector<Value> roots = needed_values(*source, programs, false);
  const std::vector<Node*> nodes = reachable_nodes(roots);
  // Copies leaves first and then all other nodes, in the order of the source graph, so that the
  // copy lists them in the same order.
  for (const char* op : {"input", "variable"}) {
    for (Node* node : nodes) {
      if (node->op().name == op) cloner.copy(node->output(0));
    }
  }
  for (Node* node : nodes) cloner.copy(node->output(0));
  std::vector<Program> copies = copy_programs(programs, cloner);
  copy_names(*source, cloner);
  return {std::move(graph), std::move(copies)};
}

}  // namespace weft

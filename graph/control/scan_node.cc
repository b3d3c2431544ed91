#include "weft/graph/control/scan_node.h"

#include <algorithm>
#include <unordered_set>

#include "weft/graph/ir/clone.h"
#include "weft/graph/ir/draws.h"

namespace weft {

ScanNode scan_node(const Node& node) {
  const Attributes& a = node.attributes();
  ScanNode parts;
  parts.function = &node.graph().function(a.text("body"));
  const auto& inputs = node.inputs();
  const auto sequences = inputs.begin() + a.integer("carries");
  const auto operands = sequences + a.integer("sequences");
  parts.carries.assign(inputs.begin(), sequences);
  parts.sequences.assign(sequences, operands);
  parts.operands.assign(operands, inputs.end());
  parts.length = a.dim("length");
  parts.reverse = a.flag("reverse");
  parts.recompute = a.flag("recompute");
  parts.stream = a.integer("stream");
  return parts;
}

std::vector<ValueType> element_types(const ScanNode& parts) {
  std::vector<ValueType> types;
  for (const Value& v : parts.carries) types.push_back(v.type());
  for (const Value& v : parts.sequences) {
    const Shape& shape = v.shape();
    types.push_back({v.dtype(), Shape(std::vector<Dim>(shape.begin() + 1, shape.end()))});
  }
  for (const Value& v : parts.operands) types.push_back(v.type());
  return types;
}

Node& apply_scan(Graph& graph, const std::string& function, const ScanNode& parts,
                 SourceLocation loc) {
  std::vector<Value> inputs = parts.carries;
  inputs.insert(inputs.end(), parts.sequences.begin(), parts.sequences.end());
  inputs.insert(inputs.end(), parts.operands.begin(), parts.operands.end());
  Attributes attributes{{"body", function},
                        {"carries", static_cast<std::int64_t>(parts.carries.size())},
                        {"sequences", static_cast<std::int64_t>(parts.sequences.size())},
                        {"length", parts.length},
                        {"reverse", parts.reverse},
                        {"recompute", parts.recompute},
                        {"stream", std::max<std::int64_t>(parts.stream, 0)}};
  const Function& f = graph.function(function);
  const std::int64_t streams = stream_count(graph, f);
  if (streams > 0 && parts.stream < 0) attributes.set("stream", graph.reserve_streams(streams));
  Node& node = graph.apply("scan", inputs, std::move(attributes), loc);
  try {
    require_of_operands(graph, f, element_types(parts), loc);
  } catch (const Error& error) {
    graph.fail(error, "scan", inputs, loc);
  }
  return node;
}

Function without_unused_inputs(const Function& from, const std::vector<bool>& removable,
                               std::vector<bool>& kept) {
  std::unordered_set<const Node*> read;
  for (const Node* n : reachable_nodes(from.outputs)) read.insert(n);
  Function to;
  to.name = from.name;
  to.gradient = from.gradient;
  to.body = empty_copy(*from.body);
  Cloner cloner(*to.body);
  kept.assign(from.inputs.size(), true);
  for (std::size_t i = 0; i < from.inputs.size(); ++i) {
    kept[i] = !removable[i] || read.contains(from.inputs[i].node_pointer());
    if (kept[i]) to.inputs.push_back(cloner.copy(from.inputs[i]));
  }
  for (const Value& v : from.outputs) to.outputs.push_back(cloner.copy(v));
  return to;
}

}  // namespace weft

#include "weft/models/layers/attention/attention_maps.h"

#include "weft/graph/functions.h"
#include "weft/graph/ir/program.h"

namespace weft {
namespace {

/// Applies the attention op to unit vectors as values. Its output is then the probabilities, no
/// matter how the scores are computed.
Value probabilities(Node& attention) {
  constexpr std::size_t kKeys = 1, kValues = 2, kRandomKey = 12;
  Graph& graph = attention.graph();
  std::vector<Value> inputs = attention.inputs();
  const Value k = inputs[kKeys];
  const Dim& length = k.shape()[2];
  const Shape square{length, length};
  const Value unit = cast(equal(iota(graph, square, 0), iota(graph, square, 1)), k.dtype());
  inputs[kValues] = broadcast_to(unit, Shape{k.shape()[0], k.shape()[1], length, length});
  if (inputs.size() > kRandomKey) inputs[kRandomKey] = {};  // no dropout
  Attributes attributes = attention.attributes();
  attributes.set("dropout", 0.0);
  attributes.set("stream", std::int64_t{0});
  return graph.apply("attention", std::move(inputs), std::move(attributes)).output(0);
}

}  // namespace

std::vector<AttentionMap> attention_maps(Value output) {
  const Graph& graph = output.graph();
  std::vector<AttentionMap> maps;
  for (Node* node : reachable_nodes({output})) {
    if (node->op().name != "attention") continue;
    maps.push_back({std::string(graph.scope_of(*node)), probabilities(*node)});
  }
  return maps;
}

}  // namespace weft

#include "weft/tests/reference/interpreter.h"

#include "weft/core/error.h"
#include "weft/graph/ir/draws.h"
#include "weft/graph/ir/program.h"

namespace weft::testing {
namespace {

std::vector<NumberTensor> interpret_call(const Node& call, const std::vector<Tensor>& inputs,
                                         std::int64_t first_stream) {
  const Function& function = call.graph().function(call.attributes().text("body"));
  Feed feed;
  Bindings bindings;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    const Value formal = function.inputs[i];
    feed[formal] = inputs.at(i);
    for (int axis = 0; axis < formal.rank(); ++axis) {
      if (const SymbolPtr s = formal.shape()[axis].as_symbol())
        bindings.bind(s, inputs[i].size(axis));
    }
  }
  std::vector<NumberTensor> outputs;
  for (const Tensor& t : interpret(function.outputs, feed, bindings, first_stream))
    outputs.push_back(numbers_of(t));
  return outputs;
}

}  // namespace

std::vector<NumberTensor> interpret_node(const Node& node, const std::vector<Tensor>& inputs,
                                         const Bindings& bindings, Precision precision,
                                         std::int64_t first_stream) {
  if (node.op().name == "constant") return {numbers_of(node.attributes().tensor("value"))};
  const Attributes attributes =
      with_streams_from(first_stream, node, node.attributes().evaluate(bindings));
  if (node.op().has(Trait::call)) {
    return interpret_call(node, inputs, attributes.integer("stream"));
  }
  return scalar_outputs(node.op(), inputs, attributes, precision);
}

std::vector<Tensor> interpret(const std::vector<Value>& values, const Feed& feed,
                              const Bindings& bindings, std::int64_t first_stream) {
  Feed known = feed;
  for (Node* node : reachable_nodes(values)) {
    if (known.contains(node->output(0))) continue;
    if (node->op().name == "input" || node->op().name == "variable") {
      throw GraphError("interpret: no tensor given for " + node->graph().where(*node));
    }
    std::vector<Tensor> inputs;
    for (const Value& v : node->inputs()) inputs.push_back(v.defined() ? known.at(v) : Tensor());
    const auto outputs = interpret_node(*node, inputs, bindings, Precision::highest, first_stream);
    for (int o = 0; o < node->output_count(); ++o) {
      known[node->output(o)] = to_tensor(outputs[static_cast<std::size_t>(o)]);
    }
  }
  std::vector<Tensor> results;
  for (const Value& v : values) results.push_back(known.at(v));
  return results;
}

}  // namespace weft::testing

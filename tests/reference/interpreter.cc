#include "weft/tests/reference/interpreter.h"

#include <algorithm>
#include <cstring>

#include "weft/core/error.h"
#include "weft/graph/control/scan_node.h"
#include "weft/graph/ir/draws.h"
#include "weft/graph/ir/program.h"

namespace weft::testing {
namespace {

std::vector<Tensor> interpret_function(const Function& function, const std::vector<Tensor>& inputs,
                                       std::int64_t first_stream) {
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
  return interpret(function.outputs, feed, bindings, first_stream);
}

Tensor element_of(const Tensor& sequence, std::int64_t index) {
  Tensor element =
      Tensor::empty(sequence.dtype(), Sizes(sequence.sizes().begin() + 1, sequence.sizes().end()));
  if (element.bytes() > 0) {
    std::memcpy(element.mutable_raw(),
                sequence.raw() + static_cast<std::size_t>(index) * element.bytes(),
                element.bytes());
  }
  return element;
}

// A loop as its definition says it, element by element.
std::vector<Tensor> interpret_scan(const Node& node, const std::vector<Tensor>& inputs,
                                   const Attributes& attributes) {
  const ScanNode parts = scan_node(node);
  const std::size_t carries = parts.carries.size(), sequences = parts.sequences.size();
  const std::int64_t length = attributes.dim("length").constant();
  std::vector<Tensor> state(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(carries));
  std::vector<std::vector<Tensor>> stacked(static_cast<std::size_t>(node.output_count()) - carries);
  for (auto& list : stacked) list.resize(static_cast<std::size_t>(length));
  for (std::int64_t step = 0; step < length; ++step) {
    const std::int64_t index = parts.reverse ? length - 1 - step : step;
    std::vector<Tensor> operands = state;
    for (std::size_t i = carries; i < inputs.size(); ++i) {
      operands.push_back(i < carries + sequences ? element_of(inputs[i], index) : inputs[i]);
    }
    const auto results =
        interpret_function(*parts.function, operands, attributes.integer("stream"));
    state.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(carries));
    for (std::size_t o = 0; o < stacked.size(); ++o) {
      stacked[o][static_cast<std::size_t>(index)] = results[carries + o];
    }
  }
  for (std::size_t o = 0; o < stacked.size(); ++o) {
    const ValueType& type = node.type(static_cast<int>(carries + o));
    Sizes sizes;
    if (length > 0) {
      sizes = stacked[o][0].sizes();
    } else {
      // Nothing shows the other sizes but the declared type, where that has none of them symbolic.
      for (int axis = 1; axis < type.shape.rank(); ++axis) {
        sizes.push_back(type.shape[axis].constant());
      }
    }
    sizes.insert(sizes.begin(), length);
    Tensor all = Tensor::empty(type.dtype, sizes);
    std::byte* to = all.mutable_raw();
    for (const Tensor& part : stacked[o]) {
      if (part.bytes() > 0) std::memcpy(to, part.raw(), part.bytes());
      to += part.bytes();
    }
    state.push_back(all);
  }
  return state;
}

std::vector<Tensor> interpret_while(const Node& node, const std::vector<Tensor>& inputs,
                                    const Attributes& attributes) {
  const Graph& graph = node.graph();
  const Function& condition = graph.function(attributes.text("condition"));
  const Function& body = graph.function(attributes.text("body"));
  const auto carries = static_cast<std::ptrdiff_t>(attributes.integer("carries"));
  std::vector<Tensor> state = inputs;
  for (std::int64_t step = 0; step < attributes.integer("limit"); ++step) {
    if (interpret_function(condition, state, 0)[0].at(0) == 0) break;
    const auto next = interpret_function(body, state, attributes.integer("stream"));
    std::copy(next.begin(), next.end(), state.begin());
  }
  state.resize(static_cast<std::size_t>(carries));
  return state;
}

std::vector<Tensor> interpret_bodies(const Node& node, const std::vector<Tensor>& inputs,
                                     const Attributes& attributes) {
  const Graph& graph = node.graph();
  if (is_call(node)) {
    return interpret_function(graph.function(attributes.text("body")), inputs,
                              attributes.integer("stream"));
  }
  switch (control_op(node)) {
    case ControlOp::scan: return interpret_scan(node, inputs, attributes);
    case ControlOp::while_loop: return interpret_while(node, inputs, attributes);
    case ControlOp::cond: break;
  }
  const char* branch = inputs[0].at(0) != 0 ? "then" : "else";
  return interpret_function(graph.function(attributes.text(branch)),
                            {inputs.begin() + 1, inputs.end()}, attributes.integer("stream"));
}

}  // namespace

std::vector<NumberTensor> interpret_node(const Node& node, const std::vector<Tensor>& inputs,
                                         const Bindings& bindings, Precision precision,
                                         std::int64_t first_stream) {
  if (node.op().name == "constant") return {numbers_of(node.attributes().tensor("value"))};
  const Attributes attributes =
      with_streams_from(first_stream, node, node.attributes().evaluate(bindings));
  if (node.op().has_bodies()) {
    std::vector<NumberTensor> outputs;
    for (const Tensor& t : interpret_bodies(node, inputs, attributes)) {
      outputs.push_back(numbers_of(t));
    }
    return outputs;
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

#include "weft/tests/reference/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "weft/core/error.h"
#include "weft/graph/control/scan_node.h"
#include "weft/graph/ir/draws.h"
#include "weft/graph/ir/program.h"

namespace weft::testing {
namespace {

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

class Interpreter {
 public:
  explicit Interpreter(const NodeRule& rule) : rule_(rule) {}

  std::vector<Tensor> run(const std::vector<Value>& values, const Feed& feed,
                          const Bindings& bindings, std::int64_t first_stream) {
    Feed known = feed;
    for (Node* node : reachable_nodes(values)) {
      if (known.contains(node->output(0))) continue;
      if (node->op().name == "input" || node->op().name == "variable") {
        throw GraphError("interpret: no tensor was fed for " + node->graph().where(*node));
      }
      std::vector<Tensor> inputs;
      for (const Value& v : node->inputs()) inputs.push_back(v.defined() ? known.at(v) : Tensor());
      const auto outputs = node_outputs(*node, inputs, bindings, first_stream);
      for (int o = 0; o < node->output_count(); ++o) {
        known[node->output(o)] = outputs[static_cast<std::size_t>(o)];
      }
    }
    std::vector<Tensor> results;
    for (const Value& v : values) results.push_back(known.at(v));
    return results;
  }

  std::vector<Tensor> node_outputs(const Node& node, const std::vector<Tensor>& inputs,
                                   const Bindings& bindings, std::int64_t first_stream) {
    if (node.op().name == "constant") return {node.attributes().tensor("value")};
    const Attributes attributes =
        with_streams_from(first_stream, node, node.attributes().evaluate(bindings));
    if (node.op().has_bodies()) return bodies(node, inputs, attributes);
    std::string within;
    for (auto it = within_.rbegin(); it != within_.rend(); ++it) within += "\n  in " + *it;
    return rule_({node, inputs, attributes, std::move(within)});
  }

 private:
  std::vector<Tensor> bodies(const Node& node, const std::vector<Tensor>& inputs,
                             const Attributes& attributes) {
    const Graph& graph = node.graph();
    if (is_call(node)) {
      const std::string& body = attributes.text("body");
      return function(graph.function(body), inputs, attributes.integer("stream"),
                      fmt::format("function {}, called at {}", body, graph.where(node)));
    }
    switch (control_op(node)) {
      case ControlOp::scan: return scan(node, inputs, attributes);
      case ControlOp::while_loop: return while_loop(node, inputs, attributes);
      case ControlOp::cond: break;
    }
    const char* branch = inputs[0].at(0) != 0 ? "then" : "else";
    return function(graph.function(attributes.text(branch)), {inputs.begin() + 1, inputs.end()},
                    attributes.integer("stream"),
                    fmt::format("branch '{}' of cond, {}", branch, graph.where(node)));
  }

  std::vector<Tensor> function(const Function& function, const std::vector<Tensor>& inputs,
                               std::int64_t first_stream, std::string place) {
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
    within_.push_back(std::move(place));
    auto results = run(function.outputs, feed, bindings, first_stream);
    within_.pop_back();
    return results;
  }

  // Executes a loop according to its definition, element by element.
  std::vector<Tensor> scan(const Node& node, const std::vector<Tensor>& inputs,
                           const Attributes& attributes) {
    const ScanNode parts = scan_node(node);
    const std::size_t carries = parts.carries.size(), sequences = parts.sequences.size();
    const std::int64_t length = attributes.dim("length").constant();
    std::vector<Tensor> state(inputs.begin(),
                              inputs.begin() + static_cast<std::ptrdiff_t>(carries));
    std::vector<std::vector<Tensor>> stacked(static_cast<std::size_t>(node.output_count()) -
                                             carries);
    for (auto& list : stacked) list.resize(static_cast<std::size_t>(length));
    for (std::int64_t step = 0; step < length; ++step) {
      const std::int64_t index = parts.reverse ? length - 1 - step : step;
      std::vector<Tensor> operands = state;
      for (std::size_t i = carries; i < inputs.size(); ++i) {
        operands.push_back(i < carries + sequences ? element_of(inputs[i], index) : inputs[i]);
      }
      const auto results =
          function(*parts.function, operands, attributes.integer("stream"), step_of(node, index));
      state.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(carries));
      for (std::size_t o = 0; o < stacked.size(); ++o) {
        stacked[o][static_cast<std::size_t>(index)] = results[carries + o];
      }
    }
    for (std::size_t o = 0; o < stacked.size(); ++o) {
      state.push_back(stack(stacked[o], node.type(static_cast<int>(carries + o))));
    }
    return state;
  }

  static Tensor stack(const std::vector<Tensor>& parts, const ValueType& type) {
    Sizes sizes;
    if (!parts.empty()) {
      sizes = parts[0].sizes();
    } else {
      // Without steps, the other sizes are known only from the declared type, so they must not be
      // symbolic.
      for (int axis = 1; axis < type.shape.rank(); ++axis) {
        sizes.push_back(type.shape[axis].constant());
      }
    }
    sizes.insert(sizes.begin(), static_cast<std::int64_t>(parts.size()));
    Tensor all = Tensor::empty(type.dtype, sizes);
    std::byte* to = all.mutable_raw();
    for (const Tensor& part : parts) {
      if (part.bytes() > 0) std::memcpy(to, part.raw(), part.bytes());
      to += part.bytes();
    }
    return all;
  }

  std::vector<Tensor> while_loop(const Node& node, const std::vector<Tensor>& inputs,
                                 const Attributes& attributes) {
    const Graph& graph = node.graph();
    const Function& condition = graph.function(attributes.text("condition"));
    const Function& body = graph.function(attributes.text("body"));
    const auto carries = static_cast<std::ptrdiff_t>(attributes.integer("carries"));
    std::vector<Tensor> state = inputs;
    for (std::int64_t step = 0; step < attributes.integer("limit"); ++step) {
      const std::string place = step_of(node, step);
      if (function(condition, state, 0, "the condition, " + place)[0].at(0) == 0) break;
      const auto next = function(body, state, attributes.integer("stream"), place);
      std::copy(next.begin(), next.end(), state.begin());
    }
    state.resize(static_cast<std::size_t>(carries));
    return state;
  }

  static std::string step_of(const Node& node, std::int64_t index) {
    return fmt::format("step {} of {}, {}", index, node.op().name, node.graph().where(node));
  }

  const NodeRule& rule_;
  std::vector<std::string> within_;  // outermost first
};

}  // namespace

std::vector<Tensor> scalar_rule(const NodeUse& use) {
  std::vector<Tensor> outputs;
  for (const NumberTensor& t : scalar_outputs(use.node.op(), use.inputs, use.attributes)) {
    outputs.push_back(to_tensor(t));
  }
  return outputs;
}

std::vector<NumberTensor> interpret_node(const Node& node, const std::vector<Tensor>& inputs,
                                         const Bindings& bindings, Precision precision,
                                         std::int64_t first_stream) {
  if (node.op().name != "constant" && !node.op().has_bodies()) {
    return scalar_outputs(
        node.op(), inputs,
        with_streams_from(first_stream, node, node.attributes().evaluate(bindings)), precision);
  }
  const NodeRule rule = scalar_rule;
  std::vector<NumberTensor> outputs;
  for (const Tensor& t : Interpreter(rule).node_outputs(node, inputs, bindings, first_stream)) {
    outputs.push_back(numbers_of(t));
  }
  return outputs;
}

std::vector<Tensor> interpret(const std::vector<Value>& values, const Feed& feed,
                              const Bindings& bindings, const NodeRule& rule) {
  return Interpreter(rule).run(values, feed, bindings, 0);
}

}  // namespace weft::testing

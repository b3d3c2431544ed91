// Calls, loops and branches.
#include "weft/graph/control/scan_node.h"
#include "weft/serialization/onnx/export/operators.h"

namespace weft::onnx {
namespace {

using Ports = std::vector<GraphExport::Port>;

const Function& body_of(const NodeExport& e, std::string_view attribute) {
  return e.node().graph().function(e.attributes().text(attribute));
}

// Returns names for the first `count` inputs of a function.
Ports formals(const NodeExport& e, const Function& function, std::size_t count) {
  Ports ports;
  for (std::size_t i = 0; i < count; ++i) {
    const Value& input = function.inputs[i];
    ports.push_back({e.graph().unique(input.node().attributes().text("name")), input.type()});
  }
  return ports;
}

// Adds the nodes of a function. The operands are ports, then operands of the node from `first` on.
Ports inlined(const NodeExport& e, const Function& function, const Ports& ports,
              std::size_t first) {
  Names operands;
  for (const auto& port : ports) operands.push_back(port.name);
  for (std::size_t i = first; i < e.input_count(); ++i) operands.push_back(e.in(i));
  const Names names = e.graph().add_function(function, operands);
  Ports outputs;
  for (std::size_t i = 0; i < names.size(); ++i) {
    outputs.push_back({names[i], function.outputs[i].type()});
  }
  return outputs;
}

onnx_proto::Graph& subgraph(onnx_proto::Node& node, const std::string& name) {
  onnx_proto::Attribute& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx_proto::Attribute::GRAPH);
  return *attribute.mutable_g();
}

Names outputs_of(const onnx_proto::Node& node) {
  return {node.output().begin(), node.output().end()};
}

Names export_call(const NodeExport& e) {
  return e.graph().add_function(body_of(e, "body"), e.inputs());
}

Names export_scan(const NodeExport& e) {
  const ScanNode parts = scan_node(e.node());
  const std::size_t carries = parts.carries.size(), first = carries + parts.sequences.size();
  Names operands = e.inputs();
  operands.resize(first);
  Ports inputs = formals(e, *parts.function, first);
  if (parts.sequences.empty()) {  // ONNX takes the number of steps from a sequence
    const std::string length = e.add("Squeeze", {e.graph().size(parts.length), e.list({0})});
    operands.push_back(e.add("Range", {e.scalar(DType::i64, 0), length, e.scalar(DType::i64, 1)}));
    inputs.push_back({e.graph().unique("index"), {DType::i64, {}}});
  }
  const std::size_t outputs = parts.function->outputs.size();
  OnnxAttributes attributes = {
      {"num_scan_inputs", static_cast<std::int64_t>(operands.size() - carries)}};
  if (parts.reverse) {
    const std::vector<std::int64_t> in(operands.size() - carries, 1), out(outputs - carries, 1);
    attributes.push_back({"scan_input_directions", in});
    if (!out.empty()) attributes.push_back({"scan_output_directions", out});
  }
  onnx_proto::Node& node = e.graph().add_node("Scan", operands, outputs, attributes);
  e.graph().add_subgraph(subgraph(node, "body"), inputs, [&] {
    const auto end = inputs.begin() + static_cast<std::ptrdiff_t>(first);
    return inlined(e, *parts.function, Ports(inputs.begin(), end), first);
  });
  return outputs_of(node);
}

Names export_cond(const NodeExport& e) {
  const auto count = static_cast<std::size_t>(e.node().output_count());
  onnx_proto::Node& node = e.graph().add_node("If", {e.in(0)}, count, {});
  for (const bool then : {true, false}) {
    e.graph().add_subgraph(subgraph(node, then ? "then_branch" : "else_branch"), {},
                           [&] { return inlined(e, body_of(e, then ? "then" : "else"), {}, 1); });
  }
  return outputs_of(node);
}

Names export_while_loop(const NodeExport& e) {
  const auto carries = static_cast<std::size_t>(e.integer("carries"));
  const Function &condition = body_of(e, "condition"), &body = body_of(e, "body");
  Names operands = {e.constant(Tensor::of<std::int64_t>({}, {e.integer("limit")})),
                    inlined(e, condition, {}, 0)[0].name};
  for (std::size_t i = 0; i < carries; ++i) operands.push_back(e.in(i));
  onnx_proto::Node& node = e.graph().add_node("Loop", operands, carries, {});
  Ports state = formals(e, body, carries);
  Ports inputs = {{e.graph().unique("iteration"), {DType::i64, {}}},
                  {e.graph().unique("condition"), {DType::boolean, {}}}};
  inputs.insert(inputs.end(), state.begin(), state.end());
  e.graph().add_subgraph(subgraph(node, "body"), inputs, [&] {
    const Ports next = inlined(e, body, state, carries);
    Ports outputs = inlined(e, condition, next, carries);
    outputs.insert(outputs.end(), next.begin(), next.end());
    return outputs;
  });
  return outputs_of(node);
}

constexpr Exporter kControls[] = {
    {"call", export_call},
    {"cond", export_cond},
    {"scan", export_scan},
    {"while_loop", export_while_loop},
};

}  // namespace

std::span<const Exporter> control_exporters() { return kControls; }

}  // namespace weft::onnx

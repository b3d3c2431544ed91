#include "weft/tests/onnx/onnx_model.h"

#include "weft/graph/run/session.h"
#include "weft/serialization/onnx/tensors.h"
#include "weft/testing/temporary_folder.h"

namespace weft::testing {
namespace {

onnx_proto::Attribute named(std::string_view name, onnx_proto::Attribute::Type type) {
  onnx_proto::Attribute a;
  a.set_name(std::string(name));
  a.set_type(type);
  return a;
}

}  // namespace

onnx_proto::Tensor tensor_message(const Tensor& tensor, std::string_view name) {
  onnx_proto::Tensor message;
  for (const std::int64_t size : tensor.sizes()) message.add_dims(size);
  message.set_data_type(onnx::number_of_dtype(tensor.dtype()));
  if (!name.empty()) message.set_name(std::string(name));
  message.set_raw_data(tensor.raw(), tensor.bytes());
  return message;
}

onnx_proto::Value value_message(std::string_view name, DType dtype,
                                const std::vector<OnnxSize>& sizes) {
  onnx_proto::Value value;
  value.set_name(std::string(name));
  auto& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::number_of_dtype(dtype));
  type.mutable_shape();
  for (const OnnxSize& size : sizes) {
    auto& dim = *type.mutable_shape()->add_dim();
    if (const auto* number = std::get_if<std::int64_t>(&size))
      dim.set_dim_value(*number);
    else if (!std::get<std::string>(size).empty())
      dim.set_dim_param(std::get<std::string>(size));
  }
  return value;
}

onnx_proto::Attribute attribute(std::string_view name, std::int64_t value) {
  auto a = named(name, onnx_proto::Attribute::INT);
  a.set_i(value);
  return a;
}
onnx_proto::Attribute attribute(std::string_view name, double value) {
  auto a = named(name, onnx_proto::Attribute::FLOAT);
  a.set_f(static_cast<float>(value));
  return a;
}
onnx_proto::Attribute attribute(std::string_view name, const char* value) {
  auto a = named(name, onnx_proto::Attribute::STRING);
  a.set_s(value);
  return a;
}
onnx_proto::Attribute attribute(std::string_view name, const std::vector<std::int64_t>& values) {
  auto a = named(name, onnx_proto::Attribute::INTS);
  for (const std::int64_t value : values) a.add_ints(value);
  return a;
}
onnx_proto::Attribute attribute(std::string_view name, const std::vector<double>& values) {
  auto a = named(name, onnx_proto::Attribute::FLOATS);
  for (const double value : values) a.add_floats(static_cast<float>(value));
  return a;
}
onnx_proto::Attribute attribute(std::string_view name, const Tensor& value) {
  auto a = named(name, onnx_proto::Attribute::TENSOR);
  *a.mutable_t() = tensor_message(value);
  return a;
}
onnx_proto::Attribute attribute(std::string_view name, const onnx_proto::Graph& value) {
  auto a = named(name, onnx_proto::Attribute::GRAPH);
  *a.mutable_g() = value;
  return a;
}

GraphBuilder& GraphBuilder::input(std::string_view name, DType dtype,
                                  const std::vector<OnnxSize>& sizes) {
  *graph.add_input() = value_message(name, dtype, sizes);
  return *this;
}
GraphBuilder& GraphBuilder::initializer(std::string_view name, const Tensor& value) {
  *graph.add_initializer() = tensor_message(value, name);
  return *this;
}
GraphBuilder& GraphBuilder::node(std::string_view op, const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& outputs,
                                 const std::vector<onnx_proto::Attribute>& attributes,
                                 std::string_view domain) {
  auto& node = *graph.add_node();
  node.set_op_type(std::string(op));
  node.set_domain(std::string(domain));
  for (const std::string& name : inputs) node.add_input(name);
  for (const std::string& name : outputs) node.add_output(name);
  for (const auto& a : attributes) *node.add_attribute() = a;
  return *this;
}
GraphBuilder& GraphBuilder::output(std::string_view name) {
  graph.add_output()->set_name(std::string(name));
  return *this;
}

onnx_proto::Model onnx_model(const GraphBuilder& graph, std::int64_t opset) {
  onnx_proto::Model model;
  model.set_ir_version(8);
  model.set_producer_name("test");
  *model.mutable_graph() = graph.graph;
  const auto add = [&](const char* domain, std::int64_t version) {
    auto& import = *model.add_opset_import();
    import.set_domain(domain);
    import.set_version(version);
  };
  add("", opset);
  add("com.microsoft", 1);
  add("ai.onnx.preview.training", 1);
  return model;
}

OnnxModel read_model(const onnx_proto::Model& model, const OnnxReadOptions& options) {
  const TemporaryFolder folder("onnx");
  return read_onnx(folder.write("model.onnx", model.SerializeAsString()), options);
}

Results run_model(const OnnxModel& model, const NamedTensors& feeds) {
  Session session(model.checkpoint.graph(), model.checkpoint.store());
  return session.run(model.checkpoint.program("predict"), feeds);
}

}  // namespace weft::testing

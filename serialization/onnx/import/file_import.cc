#include "weft/serialization/onnx/import/file_import.h"

#include <fmt/format.h>

namespace weft::onnx {

std::string_view canonical_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

Opsets opsets_of(const google::protobuf::RepeatedPtrField<onnx_proto::OperatorSet>& imports) {
  Opsets opsets;
  for (const auto& import : imports)
    opsets[std::string(canonical_domain(import.domain()))] = import.version();
  return opsets;
}

FileImport::FileImport(std::string file, std::shared_ptr<const onnx_proto::Model> messages,
                       const OnnxReadOptions& read_options)
    : path(std::move(file)),
      model(std::move(messages)),
      options(read_options),
      reader(path, model),
      graph(std::make_shared<Graph>()),
      known(
          [this](Value leaf) {
            const Node& node = leaf.node();
            if (node.op().name != "variable") return Tensor();
            const auto found = tensors.find(node.attributes().text("name"));
            return found == tensors.end() ? Tensor() : found->second;
          },
          read_options.max_memory) {
  for (const auto& function : model->functions()) {
    functions.emplace(
        std::tuple<std::string_view, std::string_view, std::string_view>(
            canonical_domain(function.domain()), function.name(), function.overload()),
        &function);
  }
}

Value FileImport::add_variable(std::string_view name, Tensor value, VariableKind kind) {
  std::string unique(name);
  for (int i = 2; graph->has_variable(unique); ++i) unique = fmt::format("{}_{}", name, i);
  const Graph::Outside outside(*graph);
  const Variable variable = graph->variable(
      unique, ValueType{value.dtype(), Shape(value.sizes())},
      {.kind = kind, .trainable = options.trainable && kind == VariableKind::parameter});
  tensors.emplace(unique, std::move(value));
  return variable;
}

const onnx_proto::Function* FileImport::find_function(const onnx_proto::Node& node) const {
  const auto found =
      functions.find({canonical_domain(node.domain()), node.op_type(), node.overload()});
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace weft::onnx

#include "weft/serialization/onnx/import/file_import.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft::onnx {
namespace {

constexpr std::int64_t kMaxNodes = std::int64_t{1} << 21;

bool has_references(const onnx_proto::Node& node) {
  for (const auto& attribute : node.attribute()) {
    if (!attribute.ref_attr_name().empty()) return true;
    for (const auto& inner : attribute.g().node())
      if (has_references(inner)) return true;
  }
  return false;
}

template <class Find>
void bind_node(onnx_proto::Node& node, Find find) {
  auto& attributes = *node.mutable_attribute();
  for (int i = attributes.size() - 1; i >= 0; --i) {
    onnx_proto::Attribute& attribute = attributes[i];
    if (attribute.has_g())
      for (auto& inner : *attribute.mutable_g()->mutable_node()) bind_node(inner, find);
    if (attribute.ref_attr_name().empty()) continue;
    const std::string name = attribute.name();
    if (const onnx_proto::Attribute* value = find(attribute.ref_attr_name())) {
      attribute = *value;
      attribute.set_name(name);
    } else {
      attributes.DeleteSubrange(i, 1);
    }
  }
}

}  // namespace

void throw_for_file(const Error& e, const std::string& message) {
  if (dynamic_cast<const IoError*>(&e) != nullptr || dynamic_cast<const StateError*>(&e) != nullptr)
    e.rethrow_as(message);
  throw FormatError(message);
}

FileImport::FileImport(std::string file, std::shared_ptr<const onnx_proto::Model> model,
                       const OnnxReadOptions& read_options)
    : path(std::move(file)),
      messages(std::make_shared<Messages>(Messages{std::move(model), {}})),
      options(read_options),
      opsets(opsets_of(messages->model->opset_import())),
      reader(path, messages),
      graph(std::make_shared<Graph>()),
      known(
          [this](Value leaf) {
            const Node& node = leaf.node();
            if (node.op().name != "variable") return Tensor();
            const auto found = tensors.find(node.attributes().text("name"));
            return found == tensors.end() ? Tensor() : found->second;
          },
          read_options.max_memory) {
  for (const auto& function : messages->model->functions()) {
    functions.emplace(
        std::tuple<std::string_view, std::string_view, std::string_view>(
            canonical_domain(function.domain()), function.name(), function.overload()),
        FileFunction{&function, opsets_of(function.opset_import())});
  }
}

Value FileImport::add_variable(std::string_view name, Tensor value, VariableKind kind,
                               bool trainable) {
  std::string unique(name);
  for (int i = 2; graph->has_variable(unique); ++i) unique = fmt::format("{}_{}", name, i);
  const Graph::Outside outside(*graph);
  VariableOptions declared{
      .kind = kind, .trainable = trainable && options.trainable && kind == VariableKind::parameter};
  // Exporters write constants such as eps as initialisers, too (see composites.h).
  if (value.numel() == 1) declared.initializer = Initializer::constant(value.at(0));
  const Variable variable =
      graph->variable(unique, ValueType{value.dtype(), Shape(value.sizes())}, declared);
  tensors.insert_or_assign(unique, std::move(value));
  return variable;
}

const FileFunction* FileImport::find_function(const onnx_proto::Node& node) const {
  const auto found =
      functions.find({canonical_domain(node.domain()), node.op_type(), node.overload()});
  return found == functions.end() ? nullptr : &found->second;
}

const onnx_proto::Node& FileImport::bind_attributes(const onnx_proto::Node& node,
                                                    const onnx_proto::Function& function,
                                                    const onnx_proto::Node& call) {
  if (!has_references(node)) return node;
  onnx_proto::Node copy = node;
  bind_node(copy, [&](const std::string& name) -> const onnx_proto::Attribute* {
    for (const auto& given : call.attribute())
      if (given.name() == name) return &given;
    for (const auto& otherwise : function.attribute_proto())
      if (otherwise.name() == name) return &otherwise;
    return nullptr;
  });
  bound_bytes_ += copy.ByteSizeLong();
  if (bound_bytes_ > options.max_memory) {
    throw FormatError(fmt::format(
        "calls of functions need more than {} bytes: raise OnnxReadOptions::max_memory if the file "
        "is trusted",
        options.max_memory));
  }
  return messages->bound.emplace_back(std::move(copy));
}

void FileImport::count_node() {
  if (++nodes_ > kMaxNodes)
    throw FormatError(fmt::format("the file expands to more than {} nodes", kMaxNodes));
}

}  // namespace weft::onnx

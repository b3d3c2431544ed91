// Descriptions of ONNX files.
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <set>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/serialization/files/checked_size.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/model_file.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft/serialization/onnx/tensors.h"

namespace weft {
namespace onnx {
namespace {

std::string type_text(const onnx_proto::TypeInfo& type) {
  if (type.has_sequence_type())
    return fmt::format("sequence({})", type_text(type.sequence_type().elem_type()));
  if (type.has_optional_type())
    return fmt::format("optional({})", type_text(type.optional_type().elem_type()));
  if (type.has_map_type()) return "map";
  if (!type.has_tensor_type()) return "unknown";
  const auto& tensor = type.tensor_type();
  const std::optional<DType> dtype = dtype_of_number(tensor.elem_type());
  std::string text = dtype ? std::string(dtype_name(*dtype)) : data_type_name(tensor.elem_type());
  if (!tensor.has_shape()) return text + "[...]";
  text += '[';
  for (int i = 0; i < tensor.shape().dim_size(); ++i) {
    const auto& dim = tensor.shape().dim(i);
    if (i > 0) text += ", ";
    text += dim.has_dim_value()       ? std::to_string(dim.dim_value())
            : dim.dim_param().empty() ? "?"
                                      : excerpt(dim.dim_param());
  }
  return text + ']';
}

class Describer {
 public:
  explicit Describer(const onnx_proto::Model& model) : model_(model) {
    for (const auto& function : model.functions())
      functions_.emplace(canonical_domain(function.domain()), function.name());
  }

  void nodes(const google::protobuf::RepeatedPtrField<onnx_proto::Node>& nodes,
             const Opsets& opsets) {
    for (const auto& node : nodes) {
      auto& op = operators_[operator_name(node)];
      ++op.count;
      const bool is_function =
          functions_.count({canonical_domain(node.domain()), node.op_type()}) != 0;
      if (!is_function && op.unsupported.empty())
        op.unsupported = look_up(node, opsets).unsupported;
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) graph(attribute.g(), opsets);
        for (const auto& body : attribute.graphs()) graph(body, opsets);
      }
    }
  }

  void graph(const onnx_proto::Graph& graph, const Opsets& opsets) {
    for (const auto& tensor : graph.initializer()) initializer(tensor.data_type(), tensor.dims());
    for (const auto& sparse : graph.sparse_initializer())
      initializer(sparse.values().data_type(), sparse.dims());
    nodes(graph.node(), opsets);
  }

  OnnxDescription describe() {
    OnnxDescription result;
    const Opsets opsets = opsets_of(model_.opset_import());
    graph(model_.graph(), opsets);
    for (const auto& function : model_.functions())
      nodes(function.node(), opsets_of(function.opset_import()));

    result.ir_version = model_.ir_version();
    result.producer = model_.producer_name();
    if (!model_.producer_version().empty()) result.producer += " " + model_.producer_version();
    result.opsets = {opsets.begin(), opsets.end()};
    const auto ports = [](const auto& values, const auto& skip) {
      std::vector<OnnxDescription::Port> list;
      for (const auto& value : values)
        if (skip.count(value.name()) == 0) list.push_back({value.name(), type_text(value.type())});
      return list;
    };
    std::set<std::string, std::less<>> initializers;
    for (const auto& tensor : model_.graph().initializer()) initializers.insert(tensor.name());
    result.inputs = ports(model_.graph().input(), initializers);
    result.outputs = ports(model_.graph().output(), std::set<std::string, std::less<>>());
    for (auto& [name, op] : operators_) {
      op.name = name;
      result.operators.push_back(std::move(op));
    }
    result.parameters = parameters_;
    result.initializer_bytes = bytes_;
    for (const auto& entry : model_.metadata_props()) result.metadata[entry.key()] = entry.value();
    return result;
  }

 private:
  void initializer(std::int32_t type, const google::protobuf::RepeatedField<std::int64_t>& dims) {
    const std::optional<DType> dtype = dtype_of_number(type);
    if (!dtype) return;
    const std::uint64_t bytes = checked_tensor_bytes(*dtype, Sizes(dims.begin(), dims.end()));
    bytes_ = (CheckedSize(bytes_) + bytes).value();
    if (is_floating(*dtype)) parameters_ += static_cast<std::int64_t>(bytes / dtype_size(*dtype));
  }

  const onnx_proto::Model& model_;
  std::set<std::pair<std::string_view, std::string_view>> functions_;
  std::map<std::string, OnnxDescription::Operator> operators_;
  std::int64_t parameters_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace
}  // namespace onnx

OnnxDescription describe_onnx(const std::string& path) {
  const auto model = onnx::parse_model(path);
  try {
    return onnx::Describer(*model).describe();
  } catch (const FormatError& e) {
    throw FormatError(fmt::format("{}: {}", path, e.what()));
  }
}

bool is_onnx_file(const std::string& path) {
  const auto file = MappedFile::open(path);
  google::protobuf::io::CodedInputStream in(
      reinterpret_cast<const std::uint8_t*>(file->data()),
      static_cast<int>(std::min<std::size_t>(file->bytes(), std::size_t{1} << 20)));
  // The fields of a model, in the order in which protobuf writes them: ir_version (1),
  // producer_name (2), and others before the graph (7).
  std::uint64_t version = 0;
  if (in.ReadTag() != 0x08 || !in.ReadVarint64(&version) || version < 1 || version > 1000)
    return false;
  while (const std::uint32_t tag = in.ReadTag()) {
    const std::uint32_t field = tag >> 3;
    std::uint64_t number = 0;
    if (field == 7 && (tag & 7) == 2) return true;
    if ((tag & 7) == 0 && field == 5 && in.ReadVarint64(&number)) continue;
    const bool is_message =
        (tag & 7) == 2 && (field < 9 || field == 14 || field == 20 || field == 25);
    if (!is_message || !in.ReadVarint64(&number)) return false;
    if (field == 2 && number > 0) return true;
    if (number > (1 << 20) || !in.Skip(static_cast<int>(number))) return false;
  }
  return false;
}

}  // namespace weft

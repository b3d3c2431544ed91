#include "weft/serialization/onnx/model_file.h"

#include <fmt/format.h>

#include <limits>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/core/tensor.h"
#include "weft/serialization/files/foreign_file.h"

namespace weft::onnx {

std::shared_ptr<const onnx_proto::Model> parse_model(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (file->bytes() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw FormatError(
        fmt::format("{}: an ONNX file cannot exceed 2 GiB, but it has {} bytes: large models store "
                    "their weights in external data",
                    path, file->bytes()));
  }
  auto model = std::make_shared<onnx_proto::Model>();
  const std::string_view bytes(reinterpret_cast<const char*>(file->data()), file->bytes());
  if (!model->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !model->has_graph()) {
    throw FormatError(
        fmt::format("{}: this is no ONNX model, or it is damaged or nested too deeply{}", path,
                    foreign_hint(bytes.substr(0, 512), path)));
  }
  return model;
}

Opsets opsets_of(const google::protobuf::RepeatedPtrField<onnx_proto::OperatorSet>& imports) {
  Opsets opsets;
  for (const auto& import : imports)
    opsets[std::string(canonical_domain(import.domain()))] = import.version();
  return opsets;
}

std::string_view canonical_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

std::string operator_name(const onnx_proto::Node& node) {
  const std::string_view domain = canonical_domain(node.domain());
  return excerpt(domain.empty() ? node.op_type() : fmt::format("{}.{}", domain, node.op_type()));
}

}  // namespace weft::onnx

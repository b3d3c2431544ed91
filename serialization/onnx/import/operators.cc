#include "weft/serialization/onnx/import/operators.h"

#include <fmt/format.h>

#include <map>

#include "weft/core/excerpt.h"

namespace weft::onnx {
namespace {

constexpr std::int64_t kNewestOpset = 23;

using Table = std::map<std::string_view, const Operator*>;

Table table_of(std::initializer_list<std::span<const Operator>> families) {
  Table table;
  for (const auto& family : families) {
    for (const Operator& op : family) table.emplace(op.name, &op);
  }
  return table;
}

const Table& table_of(std::string_view domain) {
  static const Table standard =
      table_of({basic_operators(),       arithmetic_operators(),  function_operators(),
                reduction_operators(),   norm_operators(),        product_operators(),
                loss_operators(),        signal_operators(),      shape_operators(),
                slice_operators(),       selection_operators(),   index_operators(),
                convolution_operators(), pooling_operators(),     resize_operators(),
                sampling_operators(),    region_operators(),      recurrent_operators(),
                attention_operators(),   quantized_operators(),   control_operators(),
                sequence_operators(),    runtime_norm_operators()});
  static const Table microsoft =
      table_of({microsoft_attention_operators(), microsoft_convolution_operators(),
                microsoft_norm_operators(), microsoft_quantized_operators()});
  static const Table training = table_of({gradient_operators()});
  static const Table none;
  if (domain.empty()) return standard;
  if (domain == "com.microsoft") return microsoft;
  return domain == "ai.onnx.preview.training" ? training : none;
}

}  // namespace

OperatorLookup look_up(const onnx_proto::Node& node, const Opsets& opsets) {
  const std::string_view domain = canonical_domain(node.domain());
  const std::string where = domain.empty() ? "the default domain" : excerpt(domain);
  const auto opset = opsets.find(domain);
  if (opset == opsets.end())
    return {.unsupported = fmt::format("the file does not declare the version of {}", where)};
  const Table& table = table_of(domain);
  const auto found = table.find(node.op_type());
  if (found == table.end()) {
    return {.unsupported =
                fmt::format("operator {} of {} is not supported", excerpt(node.op_type()), where)};
  }
  if (domain.empty() && opset->second > kNewestOpset) {
    return {.unsupported = fmt::format("opset {} is not supported; the newest supported one is {}",
                                       opset->second, kNewestOpset)};
  }
  if (opset->second < found->second->since) {
    return {.unsupported =
                fmt::format("{} of opset {} is not supported; its meaning changed in opset {}",
                            node.op_type(), opset->second, found->second->since)};
  }
  return {.op = found->second, .opset = opset->second};
}

}  // namespace weft::onnx

#include "weft/serialization/onnx/import/operators.h"

#include <map>

namespace weft::onnx {
namespace {

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
      table_of({basic_operators(),       arithmetic_operators(), function_operators(),
                reduction_operators(),   norm_operators(),       product_operators(),
                loss_operators(),        signal_operators(),     shape_operators(),
                slice_operators(),       selection_operators(),  index_operators(),
                convolution_operators(), pooling_operators(),    resize_operators(),
                sampling_operators(),    recurrent_operators(),  attention_operators(),
                quantized_operators(),   control_operators(),    sequence_operators(),
                runtime_norm_operators()});
  static const Table microsoft =
      table_of({microsoft_attention_operators(), microsoft_norm_operators(),
                microsoft_quantized_operators()});
  static const Table training = table_of({gradient_operators()});
  static const Table none;
  if (domain.empty() || domain == "ai.onnx") return standard;
  if (domain == "com.microsoft") return microsoft;
  return domain == "ai.onnx.preview.training" ? training : none;
}

}  // namespace

const Operator* find_operator(std::string_view domain, std::string_view name) {
  const Table& table = table_of(domain);
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace weft::onnx

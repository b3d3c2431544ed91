// Attention, rotary positions and recurrences.
#include <cmath>
#include <numbers>

#include "weft/autodiff/rule.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/shape.h"
#include "weft/ops/sequence/attention_op.h"
#include "weft/serialization/onnx/export/operators.h"

namespace weft::onnx {
namespace {

using Values = std::vector<Value>;

// The operator of opset 23 aligns a causal mask with the first key, caps scores after the bias was
// added, and returns NaN for a query without keys.
bool is_standard_attention(const NodeExport& e) {
  using namespace attention_op;
  const Attributes& a = e.attributes();
  for (std::size_t i = kV + 1; i < e.input_count(); ++i) {
    if (i != static_cast<std::size_t>(kBias) && e.has(i)) return false;
  }
  const bool causal = a.flag("causal");
  return e.opset() >= 23 && !e.wants(1) && e.type().dtype == DType::f32 &&
         a.integer("window") == 0 && a.integer("chunk") == 0 && a.dim("ring") == Dim(0) &&
         !(causal && e.type(0).shape[2] != e.type(1).shape[2]) &&
         !(e.has(kBias) && (causal || a.real("soft_cap") > 0));
}

Names export_attention(const NodeExport& e) {
  if (!is_standard_attention(e)) return e.lower(builtin_rules().definition("attention"));
  const Attributes& a = e.attributes();
  OnnxAttributes attributes = {{"scale", a.real("scale")},
                               {"is_causal", std::int64_t{a.flag("causal") ? 1 : 0}}};
  if (a.real("soft_cap") > 0) attributes.push_back({"softcap", a.real("soft_cap")});
  std::string bias;
  if (e.has(attention_op::kBias)) {  // with the axes of queries and keys
    bias = e.compute([](const Node&, const Values& in, Graph&) {
      Shape shape = in[attention_op::kBias].shape();
      shape[2] = in[attention_op::kQ].shape()[2];
      shape[3] = in[attention_op::kK].shape()[2];
      return Values{broadcast_to(in[attention_op::kBias], shape)};
    })[0];
  }
  return {e.add("Attention", {e.in(0), e.in(1), e.in(2), bias}, attributes)};
}

// Returns the cosines and sines of all angles, [B or 1, L, pairs]. Angles are computed in f64 and
// reduced to [0, 2 pi), because the cosine of a large f32 is not accurate.
Values rotary_tables(const Node& node, const Values& in, Graph& g) {
  const Attributes& a = node.attributes();
  const std::int64_t rotary = a.integer("rotary_dim"), pairs = rotary / 2;
  std::vector<double> frequencies;
  for (std::int64_t j = 0; j < pairs; ++j) {
    frequencies.push_back(
        std::pow(a.real("base"), -2.0 * static_cast<double>(j) / static_cast<double>(rotary)));
  }
  Value positions = unsqueeze(cast(in[1], DType::f64), -1);
  if (in[1].rank() == 1) positions = unsqueeze(positions, 0);
  const Value angle = positions * g.constant(Tensor::of<double>({pairs}, frequencies));
  constexpr double kTurn = 2 * std::numbers::pi;
  const Value reduced = cast(angle - floor(angle / kTurn) * kTurn, in[0].dtype());
  const Value sine = sin(reduced);
  return {cos(reduced), a.flag("inverse") ? -sine : sine};
}

Values lower_rope(const Node& node, const Values& in, Graph& g) {
  const Value& x = in[0];
  const Shape& shape = x.shape();
  const Dim rotary(node.attributes().integer("rotary_dim")), pairs = floor_div(rotary, 2);
  const Values tables = rotary_tables(node, in, g);
  const Value cosine = unsqueeze(tables[0], 1), sine = unsqueeze(tables[1], 1);
  const Value rotated = slice(x, 3, {.begin = Dim(0), .end = rotary});
  const bool adjacent = node.attributes().flag("adjacent");
  // [B, H, L, pairs, 2] or [B, H, L, 2, pairs]
  const Value split =
      reshape(rotated, adjacent ? Shape{shape[0], shape[1], shape[2], pairs, Dim(2)}
                                : Shape{shape[0], shape[1], shape[2], Dim(2), pairs});
  const int axis = adjacent ? 4 : 3;
  const Value a = select(split, axis, 0), b = select(split, axis, 1);
  const Value y =
      reshape(stack({a * cosine - b * sine, b * cosine + a * sine}, axis), rotated.shape());
  if (rotary == shape[3]) return {y};
  return {concat({y, slice(x, 3, {.begin = rotary})}, 3)};
}

Names export_rope(const NodeExport& e) {
  if (e.opset() < 23 || e.type().dtype != DType::f32 || e.integer("rotary_dim") == 0) {
    return e.lower(lower_rope);
  }
  const Names tables = e.compute([](const Node& node, const Values& in, Graph& g) {
    Values tables = rotary_tables(node, in, g);
    for (Value& table : tables) {
      table = broadcast_to(table, Shape{in[0].shape()[0], table.shape()[1], table.shape()[2]});
    }
    return tables;
  });
  return {e.add("RotaryEmbedding", {e.in(), tables[0], tables[1]},
                {{"rotary_embedding_dim", e.integer("rotary_dim")},
                 {"interleaved", std::int64_t{e.attributes().flag("adjacent") ? 1 : 0}}})};
}

Values lower_linear_recurrence(const Node& node, const Values& in, Graph& g) {
  const auto axis = static_cast<int>(node.attributes().integer("axis"));
  std::vector<int> order = {axis};
  for (int i = 0; i < in[0].rank(); ++i) {
    if (i != axis) order.push_back(i);
  }
  const Value a = permute(in[0], order), b = permute(in[1], order);
  const std::vector<Dim>& dims = a.shape().dims();
  const Shape row(std::vector<Dim>(dims.begin() + 1, dims.end()));
  const auto body = [](Graph&, const ScanElements& s) {
    const Value next = s.elements[0] * s.carries[0] + s.elements[1];
    return ScanStep{{next}, {next}};
  };
  const Value stacked = scan(g, {zeros(g, a.dtype(), row)}, {a, b}, {}, body,
                             {.reverse = node.attributes().flag("reverse")})
                            .outputs[0];
  std::vector<int> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  }
  return {permute(stacked, back)};
}

constexpr Exporter kSequences[] = {
    {"attention", export_attention},
    {"linear_recurrence", lower_linear_recurrence},
    {"rope", export_rope},
};

}  // namespace

std::span<const Exporter> sequence_exporters() { return kSequences; }

}  // namespace weft::onnx

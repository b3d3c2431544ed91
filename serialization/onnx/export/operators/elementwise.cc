// Elementwise ops.
#include <cmath>
#include <numbers>

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/serialization/onnx/export/operators.h"

namespace weft::onnx {
namespace {

using Values = std::vector<Value>;

Names export_cast(const NodeExport& e) { return {e.cast(e.in(), e.out_type().dtype)}; }

Names export_clamp(const NodeExport& e) {
  const auto bound = [&](std::string_view name) {
    const double value = e.attributes().real(name);
    return std::isinf(value) ? "" : e.scalar(e.type().dtype, value);
  };
  return {e.add("Clip", {e.in(), bound("lo"), bound("hi")})};
}

Names export_square(const NodeExport& e) { return {e.add("Mul", {e.in(), e.in()})}; }
Names export_rsqrt(const NodeExport& e) { return {e.add("Reciprocal", {e.add("Sqrt", {e.in()})})}; }
Names export_identity(const NodeExport& e) { return {e.in()}; }

Values lower_not_equal(const Node&, const Values& in, Graph&) {
  return {logical_not(equal(in[0], in[1]))};
}
Values lower_isfinite(const Node&, const Values& in, Graph&) { return {equal(in[0] - in[0], 0)}; }
Values lower_silu(const Node&, const Values& in, Graph&) { return {in[0] * sigmoid(in[0])}; }
Values lower_hardswish(const Node&, const Values& in, Graph&) {
  return {in[0] * clamp(in[0] + 3, 0, 6) / 6};
}
Values lower_gelu_erf(const Node&, const Values& in, Graph&) {
  const Value twice = 1 + erf(in[0] * (std::numbers::sqrt2 / 2));
  return {in[0] * 0.5 * twice};
}
Values lower_gelu_tanh(const Node&, const Values& in, Graph&) {
  const Value x = in[0];
  const double factor = std::sqrt(2 / std::numbers::pi);
  return {x * 0.5 * (1 + tanh(factor * (x + 0.044715 * (x * x * x))))};
}
// The error of u = 1 + x cancels in log(u) / (u - 1) (Kahan). The formulas are used near 0 only.
Values lower_log1p(const Node&, const Values& in, Graph&) {
  const Value x = in[0], u = 1 + x, same = equal(u, 1);
  const Value precise = log(u) * (x / where(same, 1, u - 1));
  return {where(same, x, where(abs(x) < 1, precise, log(u)))};
}
Values lower_expm1(const Node&, const Values& in, Graph&) {
  const Value x = in[0], u = exp(x), same = equal(u, 1);
  const Value precise = (u - 1) * (x / where(same, 1, log(u)));
  return {where(same, x, where(abs(x) < 1, precise, u - 1))};
}

Names export_hardswish(const NodeExport& e) {
  return e.opset() >= 14 ? Names{e.add("HardSwish", {e.in()})} : e.lower(lower_hardswish);
}
Names export_gelu_erf(const NodeExport& e) {
  return e.opset() >= 20 ? Names{e.add("Gelu", {e.in()})} : e.lower(lower_gelu_erf);
}
Names export_gelu_tanh(const NodeExport& e) {
  if (e.opset() < 20) return e.lower(lower_gelu_tanh);
  return {e.add("Gelu", {e.in()}, {{"approximate", std::string_view("tanh")}})};
}

constexpr Exporter kElementwise[] = {
    {"abs", "Abs"},
    {"add", "Add"},
    {"cast", export_cast},
    {"ceil", "Ceil"},
    {"clamp", export_clamp},
    {"cos", "Cos"},
    {"div", "Div"},
    {"equal", "Equal"},
    {"erf", "Erf"},
    {"exp", "Exp"},
    {"expm1", lower_expm1},
    {"floor", "Floor"},
    {"gelu_erf", export_gelu_erf},
    {"gelu_tanh", export_gelu_tanh},
    {"greater", "Greater"},
    {"greater_equal", "GreaterOrEqual"},
    {"hardswish", export_hardswish},
    {"isfinite", lower_isfinite},
    {"less", "Less"},
    {"less_equal", "LessOrEqual"},
    {"log", "Log"},
    {"log1p", lower_log1p},
    {"logical_and", "And"},
    {"logical_not", "Not"},
    {"logical_or", "Or"},
    {"logical_xor", "Xor"},
    {"maximum", "Max"},
    {"minimum", "Min"},
    {"mul", "Mul"},
    {"neg", "Neg"},
    {"not_equal", lower_not_equal},
    {"optimization_barrier", export_identity},
    {"pow", "Pow"},
    {"reciprocal", "Reciprocal"},
    {"relu", "Relu"},
    {"round", "Round"},
    {"rsqrt", export_rsqrt},
    {"sigmoid", "Sigmoid"},
    {"sign", "Sign"},
    {"silu", lower_silu},
    {"sin", "Sin"},
    {"softplus", "Softplus"},
    {"sqrt", "Sqrt"},
    {"square", export_square},
    {"stop_gradient", export_identity},
    {"sub", "Sub"},
    {"tanh", "Tanh"},
    {"where", "Where"},
};

}  // namespace

std::span<const Exporter> elementwise_exporters() { return kElementwise; }

}  // namespace weft::onnx

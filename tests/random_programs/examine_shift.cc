// Checks that a common offset of all elements does not change softmax, losses and norms.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "weft/ops/op.h"
#include "weft/tests/random_programs/examination.h"

namespace weft::testing {
namespace {

constexpr double kOffset = 0x1p17;

/// Rounds the elements so that adding kOffset is exact. Returns an undefined Tensor if an element
/// is too large or not finite.
Tensor rounded(const Tensor& x) {
  Tensor result = Tensor::empty(DType::f64, x.sizes());
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    if (!(std::abs(x.at(i)) <= 1024)) return {};
    result.mutable_data<double>()[i] = std::round(x.at(i) * 32) / 32;
  }
  return result.to(x.dtype());
}

Tensor moved(const Tensor& x) {
  Tensor result = x.to(DType::f64).clone();
  for (std::int64_t i = 0; i < x.numel(); ++i) result.mutable_data<double>()[i] += kOffset;
  return result.to(x.dtype());
}

}  // namespace

void Examination::check_shift(const Node& node, const std::vector<Tensor>& inputs,
                              const std::string& check) {
  constexpr std::array kInvariant = {"softmax", "log_softmax", "logsumexp", "cross_entropy",
                                     "layer_norm"};
  const std::string& op = node.op().name;
  if (std::find(kInvariant.begin(), kInvariant.end(), op) == kInvariant.end()) return;
  // Equal elements have no variance, and a small eps then amplifies every rounding.
  if (op == "layer_norm" && node.attributes().real("eps") < 1e-6) return;
  const Tensor x = rounded(inputs[0]);
  if (!x.defined()) return;
  std::vector<Tensor> operands = inputs;
  operands[0] = x;
  const Tensor plain = evaluate_op(node.op(), operands, node.attributes())[0];
  operands[0] = moved(x);
  const Tensor shifted = evaluate_op(node.op(), operands, node.attributes())[0];
  const double grows = op == "logsumexp" ? kOffset : 0;
  const double allowed = plain.dtype() == DType::f64 ? 1e-9 : op == "logsumexp" ? 0.02 : 1e-4;
  for (std::int64_t i = 0; i < plain.numel(); ++i) {
    const double a = plain.at(i), b = shifted.at(i) - grows;
    if (std::abs(a - b) <= allowed * std::max(1.0, std::abs(a)) || !std::isfinite(a)) continue;
    fail(check + " shift " + op,
         fmt::format("element {} of {} is {}, but {} if {} is added to all elements", i, op, a, b,
                     kOffset));
    return;
  }
}

}  // namespace weft::testing

// Scalar models of cross-entropy with probabilities as targets.
#include <algorithm>
#include <cmath>

#include "weft/tests/reference/scalar_ops.h"

namespace weft::testing {
namespace {

/// The logits and the targets at one position.
struct SoftPosition {
  std::vector<Number> x;
  std::vector<Real> t;       // before smoothing
  Real total = 0, size = 0;  // sums of t and |t|
  Real largest = 0;          // of |x|
  Real mean = 0;

  Real classes() const { return static_cast<Real>(x.size()); }
  /// Error bound for sums over the classes, in units in the last place.
  Real units() const { return 16 + std::sqrt(classes()); }
};

SoftPosition soft_position(const Tensor& logits, const Tensor& targets, const Lines& lines,
                           std::int64_t o, std::int64_t i) {
  SoftPosition p;
  for (std::int64_t c = 0; c < lines.length; ++c) {
    p.x.push_back(element(logits, lines.at(o, c, i)));
    p.t.push_back(element(targets, lines.at(o, c, i)).value);
    p.total += p.t.back();
    p.size += std::fabs(p.t.back());
    p.largest = std::max(p.largest, std::fabs(p.x.back().value));
    p.mean += p.x.back().value / static_cast<Real>(lines.length);
  }
  return p;
}

void soft_cross_entropy(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const Lines lines(call.in[0].sizes(), call.attributes.integer("axis"));
  const Real e = call.attributes.real("label_smoothing");
  const DType dtype = out[0].dtype;
  for (std::int64_t o = 0; o < lines.outer; ++o) {
    for (std::int64_t i = 0; i < lines.inner; ++i) {
      const SoftPosition p = soft_position(call.in[0], call.in[1], lines, o, i);
      const Number lse = scalar_reduction("logsumexp", p.x, dtype);
      Real loss = e > 0 ? e * (lse.value - p.mean) : 0;
      for (std::size_t c = 0; c < p.t.size(); ++c) {
        if (p.t[c] != 0) loss += (1 - e) * p.t[c] * (lse.value - p.x[c].value);
      }
      const auto at = static_cast<std::size_t>(o * lines.inner + i);
      const Real size = (p.size + 1) * (std::fabs(lse.value) + p.largest + 1);
      out[0].elements[at] = approximate(loss, p.units(), size, dtype);
      out[1].elements[at] =
          approximate(lse.value, p.units(), std::fabs(lse.value) + p.largest + 1, dtype);
    }
  }
}

void soft_cross_entropy_grad(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const Lines lines(call.in[1].sizes(), call.attributes.integer("axis"));
  const Real e = call.attributes.real("label_smoothing");
  const DType dtype = out[0].dtype;
  for (std::int64_t o = 0; o < lines.outer; ++o) {
    for (std::int64_t i = 0; i < lines.inner; ++i) {
      const SoftPosition p = soft_position(call.in[1], call.in[2], lines, o, i);
      const Real g = element(call.in[0], o * lines.inner + i).value;
      const Real lse = element(call.in[3], o * lines.inner + i).value;
      const Real total = (1 - e) * p.total + e, size = (1 - e) * p.size + e;
      for (std::size_t c = 0; c < p.t.size(); ++c) {
        Number& n =
            out[0].elements[static_cast<std::size_t>(lines.at(o, static_cast<std::int64_t>(c), i))];
        const Real share = std::exp(p.x[c].value - lse),
                   target = (1 - e) * p.t[c] + e / p.classes();
        // The error of large logits can be so large that the probability may have any value. This
        // is also the case if `lse` does not match these logits.
        const Real off = p.units() * epsilon(dtype) * (p.largest + std::fabs(lse));
        const Real most = std::exp(p.x[c].value - lse + off);
        if (!(most < 1e15L)) {
          n.error = kAnyValue;
          continue;
        }
        const Real magnitude = share * size * (1 + p.largest + std::fabs(lse)) + std::fabs(target);
        n = approximate(g * (share * total - target), p.units(), std::fabs(g) * magnitude, dtype);
        n.error += std::fabs(g) * size * std::max<Real>(most - share * (1 + off), 0);
      }
    }
  }
}

}  // namespace

void add_soft_loss_models(ScalarModels& models) {
  models["soft_cross_entropy"] = within_reach(soft_cross_entropy);
  models["soft_cross_entropy_grad"] = within_reach(soft_cross_entropy_grad);
}

}  // namespace weft::testing

// Scalar models of softmax, normalisation, cross-entropy (also fused with its linear layer) and
// rotary positions.
#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/tests/reference/scalar_ops.h"

namespace weft::testing {
namespace {

// Error bound for elements that are computed with a few functions, in units in the last place.
constexpr Real kUnits = 16;

Real root_of(std::int64_t n) { return std::sqrt(static_cast<Real>(n)); }

/// Returns log(sum(exp(x))) for the elements x of a one-dimensional slice.
Real log_sum(const std::vector<Real>& x) {
  Real top = -INFINITY, sum = 0;
  for (const Real v : x) {
    if (std::isnan(v)) return NAN;
    top = std::max(top, v);
  }
  if (std::isinf(top)) return top;
  for (const Real v : x) sum += std::exp(v - top);
  return top + std::log(sum);
}
Real largest_of(const std::vector<Real>& x) {
  Real m = 0;
  for (const Real v : x) m = std::max(m, std::fabs(v));
  return m;
}

void softmax(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const Tensor& x = call.in[0];
  const Lines lines(x.sizes(), call.attributes.integer("axis"));
  const bool log = call.op.name == "log_softmax";
  for (std::int64_t o = 0; o < lines.outer; ++o) {
    for (std::int64_t i = 0; i < lines.inner; ++i) {
      std::vector<Real> line;
      for (std::int64_t j = 0; j < lines.length; ++j)
        line.push_back(element(x, lines.at(o, j, i)).value);
      const Real lse = log_sum(line);
      for (std::int64_t j = 0; j < lines.length; ++j) {
        const Real t = line[static_cast<std::size_t>(j)], y = t - lse;
        const Real units = kUnits + root_of(lines.length);
        Number& n = out[0].elements[static_cast<std::size_t>(lines.at(o, j, i))];
        if (std::isinf(lse) || std::isnan(lse)) {
          n = number_of(NAN);
          n.error = std::isnan(lse) ? 0 : kAnyValue;  // a slice without a finite element
        } else {
          n = log ? approximate(y, units, std::fabs(t) + std::fabs(lse) + 1, x.dtype())
                  : approximate(std::exp(y), units, std::exp(y) * (1 + std::fabs(y)), x.dtype());
        }
      }
    }
  }
}

// -- Normalisation --------------------------------------------------------------------------------

struct Row {
  std::vector<Real> x;
  Real mean = 0, rstd = 0, extreme = 0;
  Real n() const { return static_cast<Real>(x.size()); }
  Real hat(std::size_t i) const { return (x[i] - mean) * rstd; }
  /// Error bound of an element of xhat: the error of subtracting the mean plus the error of rstd.
  Real hat_error(DType dtype) const {
    const Real reach = extreme * rstd;
    return epsilon(dtype) * (kUnits + std::sqrt(n())) * (reach + 1) *
           (1 + reach * epsilon(dtype) * reach);
  }
};

Row row_of(const Tensor& x, std::int64_t first, std::int64_t n) {
  Row row;
  for (std::int64_t i = 0; i < n; ++i) row.x.push_back(element(x, first + i).value);
  row.extreme = largest_of(row.x);
  return row;
}

std::int64_t row_length(const ScalarCall& call, const Sizes& sizes) {
  const Attribute* axes = call.attributes.find("axes");
  const std::int64_t count = axes == nullptr ? 1 : std::get<std::int64_t>(*axes);
  std::int64_t n = 1;
  for (std::size_t i = sizes.size() - static_cast<std::size_t>(count); i < sizes.size(); ++i)
    n *= sizes[i];
  return n;
}

void norm(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const bool centered = call.op.name == "layer_norm";
  const Tensor& x = call.in[0];
  const DType dtype = x.dtype();
  const std::int64_t n = row_length(call, x.sizes());
  const Real eps = call.attributes.real("eps");
  NumberTensor& rstds = out[centered ? 2 : 1];
  for (std::int64_t r = 0; r < rstds.numel(); ++r) {
    Row row = row_of(x, r * n, n);
    if (centered) {
      for (const Real v : row.x) row.mean += v / row.n();
    }
    Real variance = 0;
    for (const Real v : row.x) variance += (v - row.mean) * (v - row.mean) / row.n();
    row.rstd = 1 / std::sqrt(variance + eps);
    const auto at = static_cast<std::size_t>(r);
    const Real units = kUnits + root_of(n);
    if (n == 0) {
      rstds.elements[at].error = kAnyValue;  // statistics of an empty row
      if (centered) out[1].elements[at].error = kAnyValue;
      continue;
    }
    if (centered) out[1].elements[at] = approximate(row.mean, units, row.extreme, dtype);
    const Real reach = row.extreme * row.rstd;
    rstds.elements[at] = approximate(row.rstd, units, row.rstd * (1 + reach), dtype);
    // If the variance consists only of rounding errors, any value is possible.
    const bool lost = reach * epsilon(dtype) * units > 0.01L;
    if (lost || !std::isfinite(row.rstd)) rstds.elements[at].error = kAnyValue;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const Real gain = call.has(1) ? element(call.in[1], i).value : 1;
      const Real bias = call.has(2) ? element(call.in[2], i).value : 0;
      Number& y = out[0].elements[static_cast<std::size_t>(r * n + i)];
      y = approximate(row.hat(k) * gain + bias, 4, std::fabs(row.hat(k) * gain) + std::fabs(bias),
                      dtype);
      y.error += std::fabs(gain) * row.hat_error(dtype) * (1 + std::fabs(row.hat(k)));
      if (lost || !std::isfinite(row.rstd)) y.error = kAnyValue;
    }
  }
}

void norm_grad(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const bool centered = call.op.name == "layer_norm_grad";
  const Tensor &g = call.in[0], &x = call.in[1];
  const DType dtype = x.dtype();
  const std::int64_t n = row_length(call, x.sizes());
  const std::int64_t rows = call.in[centered ? 4 : 3].numel();
  std::vector<std::vector<Number>> gains(static_cast<std::size_t>(n)), biases(gains.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    Row row = row_of(x, r * n, n);
    row.mean = centered ? element(call.in[3], r).value : 0;
    row.rstd = element(call.in[centered ? 4 : 3], r).value;
    Real mean_h = 0, mean_hx = 0, size_h = 0, size_hx = 0;
    std::vector<Real> h;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const Real cotangent = element(g, r * n + i).value;
      h.push_back(cotangent * (call.has(2) ? element(call.in[2], i).value : 1));
      mean_h += h.back() / row.n();
      mean_hx += h.back() * row.hat(k) / row.n();
      size_h = std::max(size_h, std::fabs(h.back()));
      size_hx = std::max(size_hx, std::fabs(h.back() * row.hat(k)));
      Number gain = approximate(cotangent * row.hat(k), 4, cotangent * row.hat(k), dtype);
      gain.error += std::fabs(cotangent) * epsilon(dtype) * 4 * std::fabs(row.rstd) *
                    (row.extreme + std::fabs(row.mean));
      gains[k].push_back(gain);
      biases[k].push_back(number_of(cotangent));
    }
    Real hat = 0;
    for (std::int64_t i = 0; i < n; ++i)
      hat = std::max(hat, std::fabs(row.hat(static_cast<std::size_t>(i))));
    const Real reach = std::fabs(row.rstd) * (row.extreme + std::fabs(row.mean));
    for (std::int64_t i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const Real y = row.rstd * (h[k] - (centered ? mean_h : 0) - row.hat(k) * mean_hx);
      const Real size = std::fabs(row.rstd) *
                        (2 * size_h + hat * size_hx + reach * (std::fabs(mean_hx) + hat * size_h));
      out[0].elements[static_cast<std::size_t>(r * n + i)] =
          approximate(y, kUnits + root_of(n), size, dtype);
    }
  }
  for (std::size_t k = 0; k < gains.size(); ++k) {
    if (call.has(2)) out[1].elements[k] = scalar_reduction("sum", gains[k], dtype);
    if (centered) out[2].elements[k] = scalar_reduction("sum", biases[k], dtype);
  }
}

// -- Cross-entropy --------------------------------------------------------------------------------

/// The logits at one position with their error bound, and the target.
struct Position {
  std::vector<Real> x;
  Real error = 0;  // error of every logit, relative to the terms of its sum
  std::int64_t target = 0;
  bool counts = true;
};

Position position_of(std::vector<Real> x, std::int64_t target, const Attributes& a) {
  Position p{std::move(x), 0, target, target != a.integer("ignore_index")};
  if (p.counts && (target < 0 || target >= static_cast<std::int64_t>(p.x.size()))) {
    throw DataError("scalar model: a target is not a class");
  }
  return p;
}

Number loss_of(const Position& p, Real lse, Real smoothing, DType dtype) {
  if (!p.counts) return {};
  Real mean = 0;
  for (const Real v : p.x) mean += v / static_cast<Real>(p.x.size());
  const Real own = lse - p.x[static_cast<std::size_t>(p.target)];
  const Real loss = smoothing > 0 ? (1 - smoothing) * own + smoothing * (lse - mean) : own;
  Number n = approximate(loss, kUnits + root_of(static_cast<std::int64_t>(p.x.size())),
                         std::fabs(lse) + largest_of(p.x) + 1, dtype);
  n.error += 2 * p.error;
  return n;
}
Number lse_number(const Position& p, Real lse, DType dtype) {
  Number n = approximate(lse, kUnits + root_of(static_cast<std::int64_t>(p.x.size())),
                         largest_of(p.x) + 1, dtype);
  n.error += p.error;
  return n;
}
Number dlogit(const Position& p, std::size_t c, Real g, Real lse, Real smoothing, DType dtype) {
  if (!p.counts || g == 0) return {};
  const Real share = std::exp(p.x[c] - lse);
  // The error of large logits can be so large that the probability may have any value.
  const Real off = 2 * p.error + kUnits * epsilon(dtype) * (largest_of(p.x) + std::fabs(lse));
  const Real most = std::exp(p.x[c] - lse + off);
  // This is also the case if `lse` does not match these logits.
  if (!(most < 1e15L)) return {.error = kAnyValue};
  const Real own = static_cast<std::int64_t>(c) == p.target ? 1 - smoothing : 0;
  const Real y = g * (share - smoothing / static_cast<Real>(p.x.size()) - own);
  Number n = approximate(
      y, kUnits, std::fabs(g) * (share * (1 + largest_of(p.x) + std::fabs(lse)) + 1), dtype);
  const Real beyond_first_order = std::max<Real>(most - share * (1 + off), 0);
  n.error += std::fabs(g) * (share * 2 * p.error + beyond_first_order);
  return n;
}

Position strided_position(const ScalarCall& call, std::size_t logits, const Lines& lines,
                          std::int64_t o, std::int64_t i) {
  std::vector<Real> x;
  for (std::int64_t j = 0; j < lines.length; ++j)
    x.push_back(element(call.in[logits], lines.at(o, j, i)).value);
  return position_of(std::move(x), element(call.in[logits + 1], o * lines.inner + i).integer,
                     call.attributes);
}

void cross_entropy(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const Lines lines(call.in[0].sizes(), call.attributes.integer("axis"));
  const Real smoothing = call.attributes.real("label_smoothing");
  for (std::int64_t o = 0; o < lines.outer; ++o) {
    for (std::int64_t i = 0; i < lines.inner; ++i) {
      const Position p = strided_position(call, 0, lines, o, i);
      const Real lse = log_sum(p.x);
      const auto at = static_cast<std::size_t>(o * lines.inner + i);
      out[0].elements[at] = loss_of(p, lse, smoothing, out[0].dtype);
      out[1].elements[at] = lse_number(p, lse, out[0].dtype);
    }
  }
}

void cross_entropy_grad(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const Lines lines(call.in[1].sizes(), call.attributes.integer("axis"));
  const Real smoothing = call.attributes.real("label_smoothing");
  for (std::int64_t o = 0; o < lines.outer; ++o) {
    for (std::int64_t i = 0; i < lines.inner; ++i) {
      const Position p = strided_position(call, 1, lines, o, i);
      const std::int64_t at = o * lines.inner + i;
      for (std::int64_t c = 0; c < lines.length; ++c) {
        out[0].elements[static_cast<std::size_t>(lines.at(o, c, i))] =
            dlogit(p, static_cast<std::size_t>(c), element(call.in[0], at).value,
                   element(call.in[3], at).value, smoothing, out[0].dtype);
      }
    }
  }
}

void linear_cross_entropy(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const bool backward = call.op.name != "linear_cross_entropy";
  const bool forward = call.op.name != "linear_cross_entropy_grad";
  const std::size_t base = backward ? 1 : 0;  // the first operand is g
  const Tensor &x = call.in[base], &weight = call.in[base + 1];
  const bool transposed = call.attributes.flag("transpose_weight");
  const std::int64_t depth = weight.size(transposed ? 1 : 0);
  const std::int64_t classes = weight.size(transposed ? 0 : 1);
  const std::int64_t rows = call.in[base + 3].numel();
  const Real smoothing = call.attributes.real("label_smoothing");
  const DType dtype = x.dtype();
  const Real inexact = dtype == DType::f64 || call.precision == Precision::highest ? 0
                       : call.precision == Precision::high                         ? 3 * 0x1p-16L
                                                                                   : 0x1p-7L;
  const auto weight_at = [&](std::int64_t c, std::int64_t d) {
    return transposed ? c * depth + d : d * classes + c;
  };
  const std::size_t first = forward ? 2 : 0;  // index of the first gradient
  std::vector<std::vector<Number>> dweight(static_cast<std::size_t>(weight.numel()));
  std::vector<std::vector<Number>> dbias(static_cast<std::size_t>(classes));
  const auto product = [&](const Number& a, Real b) {
    Number n = approximate(a.value * b, 4, a.value * b, dtype);
    n.error += a.error * std::fabs(b) + inexact * std::fabs(a.value * b);
    return n;
  };
  for (std::int64_t r = 0; r < rows; ++r) {
    std::vector<Real> logits;
    Real error = 0;
    for (std::int64_t c = 0; c < classes; ++c) {
      Real sum = call.has(base + 2) ? element(call.in[base + 2], c).value : 0,
           size = std::fabs(sum);
      for (std::int64_t d = 0; d < depth; ++d) {
        const Real term = element(x, r * depth + d).value * element(weight, weight_at(c, d)).value;
        sum += term;
        size += std::fabs(term);
      }
      error = std::max(error, size * (epsilon(dtype) * (4 + 2 * root_of(depth)) + inexact));
      logits.push_back(sum);
    }
    Position p =
        position_of(std::move(logits), element(call.in[base + 3], r).integer, call.attributes);
    p.error = error;
    const Real own_lse = log_sum(p.x);
    if (forward) {
      out[0].elements[static_cast<std::size_t>(r)] = loss_of(p, own_lse, smoothing, dtype);
      out[1].elements[static_cast<std::size_t>(r)] = lse_number(p, own_lse, dtype);
    }
    if (!backward) continue;
    const Real lse = forward ? own_lse : element(call.in[base + 4], r).value;
    std::vector<std::vector<Number>> dx(static_cast<std::size_t>(depth));
    for (std::int64_t c = 0; c < classes; ++c) {
      const Number d = dlogit(p, static_cast<std::size_t>(c), element(call.in[0], r).value, lse,
                              smoothing, dtype);
      dbias[static_cast<std::size_t>(c)].push_back(d);
      for (std::int64_t k = 0; k < depth; ++k) {
        dx[static_cast<std::size_t>(k)].push_back(
            product(d, element(weight, weight_at(c, k)).value));
        dweight[static_cast<std::size_t>(weight_at(c, k))].push_back(
            product(d, element(x, r * depth + k).value));
      }
    }
    for (std::int64_t k = 0; k < depth; ++k) {
      out[first].elements[static_cast<std::size_t>(r * depth + k)] =
          scalar_reduction("sum", dx[static_cast<std::size_t>(k)], dtype);
    }
  }
  if (!backward) return;
  for (std::size_t i = 0; i < dweight.size(); ++i)
    out[first + 1].elements[i] = scalar_reduction("sum", dweight[i], dtype);
  if (!call.has(base + 2)) return;
  for (std::size_t c = 0; c < dbias.size(); ++c)
    out[first + 2].elements[c] = scalar_reduction("sum", dbias[c], dtype);
}

// -- Rotary positions -----------------------------------------------------------------------------

void rope(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const Tensor &x = call.in[0], &positions = call.in[1];
  const std::int64_t heads = x.size(1), length = x.size(2), width = x.size(3);
  const std::int64_t rotary = call.attributes.integer("rotary_dim"), pairs = rotary / 2;
  if (rotary > width) throw ArgumentError("scalar model: rotary_dim is larger than the head");
  for (std::int64_t row = 0; row < x.numel() / std::max<std::int64_t>(width, 1); ++row) {
    const std::int64_t l = row % length, b = row / length / heads;
    const Real place = element(positions, positions.rank() == 2 ? b * length + l : l).value;
    for (std::int64_t i = 0; i < width; ++i) {
      const auto at = static_cast<std::size_t>(row * width + i);
      out[0].elements[at] = element(x, row * width + i);
    }
    for (std::int64_t j = 0; j < pairs; ++j) {
      const std::int64_t i = call.attributes.flag("adjacent") ? 2 * j : j;
      const std::int64_t k = call.attributes.flag("adjacent") ? 2 * j + 1 : j + pairs;
      const Real frequency = std::pow(static_cast<Real>(call.attributes.real("base")),
                                      -2 * static_cast<Real>(j) / static_cast<Real>(rotary));
      const Real angle = place * frequency * (call.attributes.flag("inverse") ? -1 : 1);
      const Real u = element(x, row * width + i).value, v = element(x, row * width + k).value;
      const Real size = std::fabs(u) + std::fabs(v);
      // The angle is a double, and its rounding error rotates the pair by this amount.
      const Real turned = size * std::fabs(angle) * 4 * epsilon(DType::f64);
      Number first = approximate(u * std::cos(angle) - v * std::sin(angle), 4, size, x.dtype());
      Number second = approximate(u * std::sin(angle) + v * std::cos(angle), 4, size, x.dtype());
      first.error += turned;
      second.error += turned;
      out[0].elements[static_cast<std::size_t>(row * width + i)] = first;
      out[0].elements[static_cast<std::size_t>(row * width + k)] = second;
    }
  }
}

}  // namespace

void add_network_models(ScalarModels& models) {
  models["softmax"] = models["log_softmax"] = within_reach(softmax);
  models["layer_norm"] = models["rms_norm"] = within_reach(norm);
  models["layer_norm_grad"] = models["rms_norm_grad"] = within_reach(norm_grad);
  models["cross_entropy"] = within_reach(cross_entropy);
  models["cross_entropy_grad"] = within_reach(cross_entropy_grad);
  models["linear_cross_entropy"] = models["linear_cross_entropy_grad"] =
      models["linear_cross_entropy_with_grad"] = within_reach(linear_cross_entropy);
  models["rope"] = within_reach(rope);
}

}  // namespace weft::testing

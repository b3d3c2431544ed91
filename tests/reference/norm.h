// Scalar models of normalisation and cross-entropy in double precision. The formulas are evaluated
// row by row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace weft::testing {

/// Returns exp(x - max) / sum, or its logarithm if `log` is true.
inline std::vector<double> reference_softmax(const std::vector<double>& x, bool log) {
  double max = -INFINITY, sum = 0;
  for (const double v : x) max = std::max(max, v);
  for (const double v : x) sum += std::exp(v - max);
  std::vector<double> y;
  for (const double v : x) y.push_back(log ? v - max - std::log(sum) : std::exp(v - max) / sum);
  return y;
}

struct ReferenceNorm {
  double mean = 0, rstd = 0;
  std::vector<double> xhat;
};
/// xhat = (x - mean) * rstd; the mean is 0 unless `centered` is true.
inline ReferenceNorm reference_norm(const std::vector<double>& x, double eps, bool centered) {
  ReferenceNorm r;
  const double n = static_cast<double>(x.size());
  if (centered) {
    for (const double v : x) r.mean += v / n;
  }
  double variance = 0;
  for (const double v : x) variance += (v - r.mean) * (v - r.mean) / n;
  r.rstd = 1 / std::sqrt(variance + eps);
  for (const double v : x) r.xhat.push_back((v - r.mean) * r.rstd);
  return r;
}

/// Returns the gradient of x for a cotangent h of xhat.
inline std::vector<double> reference_norm_grad(const ReferenceNorm& f, const std::vector<double>& h,
                                               bool centered) {
  double mean_h = 0, mean_hx = 0;
  const double n = static_cast<double>(h.size());
  for (std::size_t i = 0; i < h.size(); ++i) {
    mean_h += h[i] / n;
    mean_hx += h[i] * f.xhat[i] / n;
  }
  std::vector<double> dx;
  for (std::size_t i = 0; i < h.size(); ++i) {
    dx.push_back(f.rstd * (h[i] - (centered ? mean_h : 0) - f.xhat[i] * mean_hx));
  }
  return dx;
}

}  // namespace weft::testing

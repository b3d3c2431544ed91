// Scalar models of the reductions in double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "weft/core/tensor.h"

namespace weft::testing {

/// Reduces a list in the same way as the op named `op`.
inline double reduce_list(std::string_view op, const std::vector<double>& v) {
  if (op == "logsumexp") {
    double top = -std::numeric_limits<double>::infinity(), total = 0;
    for (const double x : v) top = std::max(top, x);
    if (std::isinf(top)) return top;
    for (const double x : v) total += std::exp(x - top);
    return top + std::log(total);
  }
  double out = op == "prod" || op == "all" ? 1 : 0;
  if (op == "max" || op == "min") out = v.at(0);
  for (const double x : v) {
    if (op == "sum" || op == "mean") out += x;
    if (op == "prod") out *= x;
    if (op == "max") out = std::max(out, x);
    if (op == "min") out = std::min(out, x);
    if (op == "any" && x != 0) out = 1;
    if (op == "all" && x == 0) out = 0;
  }
  return op == "mean" ? out / static_cast<double>(v.size()) : out;
}

/// Returns the flattened reduction over `axes` (ascending).
inline std::vector<double> reduce_reference(std::string_view op, const Tensor& x,
                                            const std::vector<std::int64_t>& axes) {
  const Sizes strides = row_major_strides(x.sizes());
  std::vector<std::int64_t> position(static_cast<std::size_t>(x.rank()), 0);
  Sizes kept;
  for (std::size_t i = 0; i < position.size(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(i))) {
      kept.push_back(x.sizes()[i]);
    }
  }
  std::vector<std::vector<double>> lists(static_cast<std::size_t>(num_elements(kept)));
  for (std::int64_t flat = 0; flat < x.numel(); ++flat) {
    std::int64_t to = 0;
    for (std::size_t i = 0; i < position.size(); ++i) {
      if (std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(i))) continue;
      to = to * x.sizes()[i] + flat / strides[i] % x.sizes()[i];
    }
    lists[static_cast<std::size_t>(to)].push_back(x.at(flat));
  }
  std::vector<double> out;
  for (const auto& list : lists) out.push_back(reduce_list(op, list));
  return out;
}

}  // namespace weft::testing

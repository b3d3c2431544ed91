// Scalar models of reductions, argmax and argmin, cumulative sums and sorting.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "weft/core/error.h"
#include "weft/tests/reference/scalar_ops.h"

namespace weft::testing {
namespace {

/// Error bound of a sum of n terms in any order, in units of the sum of magnitudes. Independent
/// rounding errors accumulate to about the square root of n.
Real sum_units(std::size_t n) { return 4 + 2 * std::sqrt(static_cast<Real>(n)); }

Number sum_of(const std::vector<Number>& list, DType dtype) {
  if (!is_floating(dtype)) {
    std::uint64_t sum = 0;
    for (const Number& n : list) sum += static_cast<std::uint64_t>(n.integer);
    return number_of_integer(wrapped(static_cast<std::int64_t>(sum), dtype));
  }
  Real sum = 0, carried = 0, above = 0, below = 0;  // magnitudes of the finite terms, by sign
  for (const Number& n : list) {
    sum += n.value;
    carried += n.error;
    if (std::isfinite(n.value)) (n.value > 0 ? above : below) += std::fabs(n.value);
  }
  const Real magnitude = above + below;
  // Sums in narrow dtypes are accumulated in float.
  const Real limit = dtype == DType::f64 ? Real{std::numeric_limits<double>::max()} / 2 : 3e38L;
  if (!std::isfinite(sum)) {
    Number result = number_of(sum);
    // The finite partial sum that is added to the infinity may have overflowed to the opposite
    // infinity, so that the result is NaN.
    if (std::isinf(sum) && (sum > 0 ? below : above) > limit) result.error = kAnyValue;
    return result;
  }
  Number result = approximate(sum, sum_units(list.size()), magnitude, dtype);
  result.error += carried;
  // A partial sum can overflow even if the sum does not, and the sum can overflow even if the mean
  // does not.
  if (magnitude > limit) result.error = kAnyValue;
  return result;
}

Number product_of(const std::vector<Number>& list, DType dtype) {
  if (!is_floating(dtype)) {
    std::uint64_t product = 1;
    for (const Number& n : list) product *= static_cast<std::uint64_t>(n.integer);
    return number_of_integer(wrapped(static_cast<std::int64_t>(product), dtype));
  }
  Real product = 1;
  // True if a partial product may have left the range of the dtype.
  bool may_leave_range = false;
  for (const Number& n : list) {
    product *= n.value;
    const Real m = std::fabs(product);
    may_leave_range = may_leave_range || (m != 0 && (m > 1e30L || m < 1e-30L));
  }
  Number result = approximate(product, 2 + static_cast<Real>(list.size()), product, dtype);
  if (may_leave_range) result.error = kAnyValue;
  return result;
}

Number extreme_of(const std::vector<Number>& list, DType dtype, bool largest) {
  Number best = list.at(0);
  Real error = 0;
  for (const Number& n : list) {
    error = std::max(error, n.error);
    if (is_floating(dtype) && std::isnan(best.value)) continue;
    const bool better = !is_floating(dtype)
                            ? (largest ? n.integer > best.integer : n.integer < best.integer)
                        : std::isnan(n.value) ? true
                        : largest             ? n.value > best.value
                                              : n.value < best.value;
    if (better) best = n;
  }
  best.error = error;
  return best;
}

Number logsumexp_of(const std::vector<Number>& list, DType dtype) {
  Real top = -INFINITY, sum = 0;
  for (const Number& n : list) {
    if (std::isnan(n.value)) return number_of(NAN);
    top = std::max(top, n.value);
  }
  if (std::isinf(top)) return number_of(top);
  for (const Number& n : list) sum += std::exp(n.value - top);
  // exp(x - top) has the rounding error of x - top, and log has the rounding error of the sum.
  Real reach = 1;
  for (const Number& n : list) reach += std::exp(n.value - top) / sum * (top - n.value);
  return approximate(top + std::log(sum), sum_units(list.size()), std::fabs(top) + reach, dtype);
}

std::vector<std::vector<Number>> lists_over(const Tensor& x, const std::vector<std::int64_t>& axes,
                                            std::size_t results) {
  std::vector<std::vector<Number>> lists(results);
  const Sizes strides = row_major_strides(x.sizes());
  for (std::int64_t flat = 0; flat < x.numel(); ++flat) {
    std::int64_t to = 0;
    for (std::size_t i = 0; i < strides.size(); ++i) {
      if (std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(i))) continue;
      to = to * x.sizes()[i] + flat / strides[i] % x.sizes()[i];
    }
    lists[static_cast<std::size_t>(to)].push_back(element(x, flat));
  }
  return lists;
}

void reduction(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const auto& axes = call.attributes.integers("axes");
  if (call.op.name == "max" || call.op.name == "min") {
    for (const std::int64_t axis : axes) {
      if (call.in[0].size(static_cast<int>(axis)) == 0) {
        throw ShapeError("scalar model: an empty range has no extreme");
      }
    }
  }
  const auto lists = lists_over(call.in[0], axes, out[0].elements.size());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    out[0].elements[i] = scalar_reduction(call.op.name, lists[i], out[0].dtype);
  }
}

/// Returns the elements of a one-dimensional slice along an axis.
std::vector<Number> line_of(const Tensor& x, const Lines& lines, std::int64_t o, std::int64_t i) {
  std::vector<Number> line;
  for (std::int64_t j = 0; j < lines.length; ++j) line.push_back(element(x, lines.at(o, j, i)));
  return line;
}

/// NaN counts as larger than all numbers.
bool less_in_order(const Number& a, const Number& b, DType dtype) {
  if (!is_floating(dtype)) return a.integer < b.integer;
  if (std::isnan(a.value)) return false;
  return std::isnan(b.value) || a.value < b.value;
}

void position_of_extreme(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const Tensor& x = call.in[0];
  const Lines lines(x.sizes(), call.attributes.integer("axis"));
  if (lines.length == 0) throw ShapeError("scalar model: an empty range has no extreme");
  const bool largest = call.op.name == "argmax";
  for (std::int64_t o = 0; o < lines.outer; ++o) {
    for (std::int64_t i = 0; i < lines.inner; ++i) {
      const auto line = line_of(x, lines, o, i);
      std::size_t best = 0;  // the first of equal elements, or the first NaN
      for (std::size_t j = 1; j < line.size(); ++j) {
        if (is_floating(x.dtype()) && std::isnan(line[best].value)) break;
        const bool nan = is_floating(x.dtype()) && std::isnan(line[j].value);
        if (nan || (largest ? less_in_order(line[best], line[j], x.dtype())
                            : less_in_order(line[j], line[best], x.dtype()))) {
          best = j;
        }
      }
      out[0].elements[static_cast<std::size_t>(o * lines.inner + i)] =
          number_of_integer(static_cast<std::int64_t>(best));
    }
  }
}

void running_sum(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const Tensor& x = call.in[0];
  const Lines lines(x.sizes(), call.attributes.integer("axis"));
  const bool exclusive = call.attributes.flag("exclusive"),
             reverse = call.attributes.flag("reverse");
  for (std::int64_t o = 0; o < lines.outer; ++o) {
    for (std::int64_t i = 0; i < lines.inner; ++i) {
      std::vector<Number> before;
      for (std::int64_t step = 0; step < lines.length; ++step) {
        const std::int64_t at = lines.at(o, reverse ? lines.length - 1 - step : step, i);
        if (!exclusive) before.push_back(element(x, at));
        out[0].elements[static_cast<std::size_t>(at)] = sum_of(before, x.dtype());
        if (exclusive) before.push_back(element(x, at));
      }
    }
  }
}

void recurrence(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const Tensor &a = call.in[0], &b = call.in[1];
  const Lines lines(a.sizes(), call.attributes.integer("axis"));
  const bool reverse = call.attributes.flag("reverse");
  for (std::int64_t o = 0; o < lines.outer; ++o) {
    for (std::int64_t i = 0; i < lines.inner; ++i) {
      Real state = 0, magnitude = 0;
      // True if the double in which the kernels accumulate may have overflowed.
      bool far = false;
      for (std::int64_t step = 0; step < lines.length; ++step) {
        const std::int64_t at = lines.at(o, reverse ? lines.length - 1 - step : step, i);
        const Real factor = element(a, at).value, added = element(b, at).value;
        state = step == 0 ? added : factor * state + added;
        magnitude = step == 0 ? std::fabs(added) : std::fabs(factor) * magnitude + std::fabs(added);
        far = far || magnitude > std::numeric_limits<double>::max() / 4;
        const Real units = a.dtype() == DType::f64 ? static_cast<Real>(2 * step + 2) : 1;
        Number& result = out[0].elements[static_cast<std::size_t>(at)];
        result = approximate(state, units, magnitude, a.dtype());
        if (far) result.error = kAnyValue;
      }
    }
  }
}

void sorted(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const Tensor& x = call.in[0];
  const std::int64_t axis = call.attributes.integer("axis");
  const Lines lines(x.sizes(), axis), kept(out[0].sizes, axis);
  const bool descending =
      call.op.name == "topk" ? call.attributes.flag("largest") : call.attributes.flag("descending");
  if (kept.length > lines.length) throw ShapeError("scalar model: k is larger than the axis");
  for (std::int64_t o = 0; o < lines.outer; ++o) {
    for (std::int64_t i = 0; i < lines.inner; ++i) {
      const auto line = line_of(x, lines, o, i);
      std::vector<std::size_t> order(line.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return descending ? less_in_order(line[b], line[a], x.dtype())
                          : less_in_order(line[a], line[b], x.dtype());
      });
      for (std::int64_t j = 0; j < kept.length; ++j) {
        const auto at = static_cast<std::size_t>(kept.at(o, j, i));
        const std::size_t from = order[static_cast<std::size_t>(j)];
        out[0].elements[at] = line[from];
        out[1].elements[at] = number_of_integer(static_cast<std::int64_t>(from));
      }
    }
  }
}

// Computes sums of blocks of 65,536 elements in double.
void block_sums(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const Tensor& x = call.in[0];
  const bool squares = call.attributes.flag("squares");
  for (std::size_t block = 0; block < out[0].elements.size(); ++block) {
    const auto begin = static_cast<std::int64_t>(block) * 65536;
    std::vector<Number> terms;
    for (std::int64_t i = begin; i < std::min<std::int64_t>(begin + 65536, x.numel()); ++i) {
      Number term = element(x, i);
      if (call.in.size() > 1 && call.in[1].defined()) {
        const auto factor = static_cast<double>(element(call.in[1], 0).value);
        term = rounded(number_of(static_cast<double>(term.value) * factor), x.dtype());
      }
      const auto value = static_cast<double>(term.value);
      if (squares) term = rounded(number_of(value * value), x.dtype());
      terms.push_back(term);
    }
    out[0].elements[block] = sum_of(terms, x.dtype());
  }
}

}  // namespace

Number scalar_reduction(std::string_view op, const std::vector<Number>& list, DType dtype) {
  if (op == "sum") return sum_of(list, dtype);
  if (op == "prod") return product_of(list, dtype);
  if (op == "max" || op == "min") return extreme_of(list, dtype, op == "max");
  if (op == "logsumexp") return logsumexp_of(list, dtype);
  if (op == "mean") {
    Number sum = sum_of(list, dtype);
    const auto n = static_cast<Real>(list.size());
    sum.value /= n;  // NaN for an empty range
    sum.error = list.empty() ? 0 : sum.error / n + 2 * epsilon(dtype) * std::fabs(sum.value);
    return sum;
  }
  bool any = false, all = true;
  for (const Number& n : list) {
    any = any || n.integer != 0;
    all = all && n.integer != 0;
  }
  return number_of_integer(op == "any" ? any : all);
}

void add_reduction_models(ScalarModels& models) {
  for (const char* name : {"sum", "mean", "max", "min", "prod", "logsumexp", "any", "all"}) {
    models[name] = reduction;
  }
  models["argmax"] = models["argmin"] = position_of_extreme;
  models["block_sums"] = block_sums;
  models["cumsum"] = running_sum;
  models["linear_recurrence"] = recurrence;
  models["sort"] = models["topk"] = sorted;
}

}  // namespace weft::testing

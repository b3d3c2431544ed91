#include "weft/graph/functions/random/random.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/option.h"
#include "weft/graph/functions/arithmetic.h"

namespace weft {
namespace {

Value draw(std::string_view op, Value key, const Shape& shape, std::string_view option,
           Attribute value, SourceLocation loc) {
  Graph& graph = key.graph();
  Attributes attributes{{"shape", shape}, {"stream", graph.next_stream()}};
  attributes.set(option, std::move(value));
  return graph.apply(op, {key}, std::move(attributes), loc).output(0);
}

/// Returns the largest sample from [0, 1) times (high - low) plus low, computed in the same way as
/// in a graph with dtype T, and the largest T below high.
template <class T>
std::pair<T, T> largest_draws(double low, double high) {
  const T scale = static_cast<T>(high - low), end = static_cast<T>(high);
  // volatile, so that the product is rounded before the addition, as in the graph (no FMA).
  const volatile T product = (1 - std::numeric_limits<T>::epsilon() / 2) * scale;
  return {product + static_cast<T>(low), std::nextafter(end, static_cast<T>(low))};
}

/// Clamps samples to below `high` if rounding may have raised the largest samples to `high`.
Value below_high(Value x, double low, double high) {
  const auto limited = [&](const auto& largest) {
    const bool rounded = largest.first > largest.second && low < high;
    return rounded ? minimum(x, static_cast<double>(largest.second)) : x;
  };
  return x.dtype() == DType::f64 ? limited(largest_draws<double>(low, high))
                                 : limited(largest_draws<float>(low, high));
}

/// Returns x * scale + shift and omits operations that have no effect.
Value affine(Value x, double scale, double shift) {
  if (scale != 1) x = mul(x, scale);
  return shift == 0 ? x : add(x, shift);
}

}  // namespace

Value uniform(Arg key, const Shape& shape, double low, double high, DType dtype) {
  const Value k = key.value("uniform");
  if (!(low <= high) || !std::isfinite(high - low)) {
    k.graph().fail(ArgumentError(fmt::format("low must be at most high, and low, high and high - "
                                             "low must be finite, but low and high are {} and {}",
                                             low, high)),
                   "uniform", {k}, key.location());
  }
  const Graph::Frame frame(k.graph(), "uniform", key.location());
  const Value unit = draw("random_uniform", k, shape, "dtype", dtype, key.location());
  return below_high(affine(unit, high - low, low), low, high);
}

Value normal(Arg key, const Shape& shape, double mean, double std, DType dtype) {
  const Value k = key.value("normal");
  for (const std::string& error : {option_error("mean", mean, Allowed::finite),
                                   option_error("std", std, Allowed::not_negative)}) {
    if (!error.empty()) k.graph().fail(ArgumentError(error), "normal", {k}, key.location());
  }
  const Graph::Frame frame(k.graph(), "normal", key.location());
  return affine(draw("random_normal", k, shape, "dtype", dtype, key.location()), std, mean);
}

Value bernoulli(Arg key, const Shape& shape, double p) {
  return draw("random_bernoulli", key.value("bernoulli"), shape, "p", p, key.location());
}

Value dropout(Arg x, double rate, Arg key) {
  const Value v = x.value("dropout"), k = key.value("dropout");
  if (rate == 0) return v;
  Graph& graph = v.graph();
  return graph
      .apply("dropout", {v, k}, {{"rate", rate}, {"stream", graph.next_stream()}}, x.location())
      .output(0);
}

Value advance_key(Arg key) { return apply_unary("key_advance", key); }

Value fold_key(Arg key, Arg index) {
  const Value k = key.value("fold_key");
  const Value i = index.value_as(k.graph(), DType::i64, "fold_key");
  return k.graph().apply("key_fold", {k, i}, {}, key.location()).output(0);
}

}  // namespace weft

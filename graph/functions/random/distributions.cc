#include "weft/graph/functions/random/distributions.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "weft/core/error.h"
#include "weft/core/option.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/random/random.h"
#include "weft/graph/functions/reduce.h"

namespace weft {
namespace {

[[noreturn]] void reject(const Value& key, SourceLocation loc, const std::string& what) {
  throw ArgumentError(what + "\n  " + key.graph().describe_source(loc));
}

void require(const Value& key, SourceLocation loc, std::string_view function,
             std::string_view option, double value, Allowed allowed) {
  const std::string error = option_error(option, value, allowed);
  if (!error.empty()) reject(key, loc, fmt::format("{}: {}", function, error));
}

// Returns -log(1 - u), which is finite because u in [0, 1) is never 1.
Value unit_exponential(const Value& key, const Shape& shape, DType dtype, SourceLocation loc) {
  return -log1p(-uniform(Arg(key, loc), shape, 0, 1, dtype));
}

}  // namespace

Value exponential(Arg key, const Shape& shape, double rate, DType dtype) {
  const Value k = key.value("exponential");
  require(k, key.location(), "exponential", "rate", rate, Allowed::positive);
  const Graph::Frame frame(k.graph(), "exponential", key.location());
  const Value draw = unit_exponential(k, shape, dtype, key.location());
  return rate == 1 ? draw : draw * (1 / rate);
}

Value gumbel(Arg key, const Shape& shape, double location, double scale, DType dtype) {
  const Value k = key.value("gumbel");
  require(k, key.location(), "gumbel", "location", location, Allowed::finite);
  require(k, key.location(), "gumbel", "scale", scale, Allowed::positive);
  const Graph::Frame frame(k.graph(), "gumbel", key.location());
  // A sample of 0 represents all values below half of the smallest positive sample.
  const double least = dtype == DType::f64 ? 0x1p-54 : 0x1p-25;
  const Value draw = -log(maximum(unit_exponential(k, shape, dtype, key.location()), least));
  return (scale == 1 ? draw : draw * scale) + location;
}

Value categorical(Arg key, Arg logits, int axis) {
  const Value k = key.value("categorical"), l = logits.value("categorical");
  const Graph::Frame frame(k.graph(), "categorical", key.location());
  return argmax(l + gumbel(Arg(k, key.location()), l.shape(), 0, 1, l.dtype()), axis);
}

Value random_integers(Arg key, const Shape& shape, std::int64_t low, std::int64_t high,
                      DType dtype) {
  const Value k = key.value("random_integers");
  if (low >= high || static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) >
                         (std::uint64_t{1} << 53)) {
    reject(
        k, key.location(),
        fmt::format("random_integers: [{}, {}) is empty or has more than 2^53 numbers", low, high));
  }
  const std::int64_t least = std::numeric_limits<std::int32_t>::min(),
                     most = std::numeric_limits<std::int32_t>::max();
  if (dtype != DType::i64 && (dtype != DType::i32 || low < least || high - 1 > most)) {
    reject(k, key.location(),
           fmt::format("random_integers: dtype must be i64, or i32 if it can represent all of "
                       "[{}, {}), but is {}",
                       low, high, dtype_name(dtype)));
  }
  const Graph::Frame frame(k.graph(), "random_integers", key.location());
  const auto range = static_cast<double>(high - low);
  const Value draw = floor(uniform(Arg(k, key.location()), shape, 0, 1, DType::f64) * range);
  // The product of the largest sample and the range may be rounded up to the range.
  return cast(cast(minimum(draw, range - 1), DType::i64) + low, dtype);
}

Value random_permutation(Arg key, const Dim& n) {
  const Value k = key.value("random_permutation");
  const Graph::Frame frame(k.graph(), "random_permutation", key.location());
  return argsort(uniform(Arg(k, key.location()), Shape{n}, 0, 1, DType::f64));
}

Value truncated_normal(Arg key, const Shape& shape, double mean, double std, double low,
                       double high, DType dtype) {
  const Value k = key.value("truncated_normal");
  if (!(low < high) || !(std > 0)) {
    reject(k, key.location(),
           fmt::format("truncated_normal: low must be below high and std positive, but they are "
                       "{}, {} and {}",
                       low, high, std));
  }
  require(k, key.location(), "truncated_normal", "mean", mean, Allowed::finite);
  require(k, key.location(), "truncated_normal", "std", std, Allowed::positive);
  const Graph::Frame frame(k.graph(), "truncated_normal", key.location());
  // In the tails (near 1 and -1), f32 has too few digits to distinguish samples.
  const bool far = low > 2 || high < -2;
  const DType wide = far && dtype == DType::f32 ? DType::f64 : dtype;
  const double last = wide == DType::f64 ? 1 - 0x1p-53 : 1 - 0x1p-24;  // largest number below 1
  const auto distribution = [](double x) { return std::erf(x / std::numbers::sqrt2); };
  const Value u =
      uniform(Arg(k, key.location()), shape, distribution(low), distribution(high), wide);
  const Value deviations = clamp(erfinv(clamp(u, -last, last)) * std::numbers::sqrt2, low, high);
  return cast(deviations * std + mean, dtype);
}

}  // namespace weft

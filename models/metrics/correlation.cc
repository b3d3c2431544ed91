#include "weft/models/metrics/correlation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "weft/core/error.h"

namespace weft {
namespace {

void check(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size())
    throw ArgumentError(fmt::format("cannot correlate {} numbers with {}", x.size(), y.size()));
  for (const auto& numbers : {x, y}) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (!std::isfinite(numbers[i]))
        throw ArgumentError(fmt::format("number {} is {}, which is not finite", i, numbers[i]));
    }
  }
}

/// Returns the differences from the mean, scaled to a largest magnitude of 1, so that their squares
/// stay in the range of doubles. Returns an empty list if all numbers are equal, because their
/// rounded mean may differ from them.
std::vector<double> centred(std::span<const double> numbers) {
  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  if (numbers.empty() || *low == *high) return {};
  const double scale = std::max(std::abs(*low), std::abs(*high));
  std::vector<double> result;
  for (const double number : numbers) result.push_back(number / scale);
  const double mean =
      std::accumulate(result.begin(), result.end(), 0.0) / static_cast<double>(result.size());
  double largest = 0;
  for (double& number : result) largest = std::max(largest, std::abs(number -= mean));
  for (double& number : result) number /= largest;
  return result;
}

/// Returns the ranks of the numbers, starting from 1. Equal numbers get the mean of their ranks.
std::vector<double> ranks(std::span<const double> numbers) {
  std::vector<std::size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return numbers[a] < numbers[b]; });
  std::vector<double> result(numbers.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && numbers[order[end]] == numbers[order[begin]]) ++end;
    // The mean of begin + 1, ..., end.
    for (std::size_t i = begin; i < end; ++i)
      result[order[i]] = static_cast<double>(begin + 1 + end) / 2;
  }
  return result;
}

}  // namespace

double pearson(std::span<const double> x, std::span<const double> y) {
  check(x, y);
  const std::vector<double> a = centred(x), b = centred(y);
  if (a.empty() || b.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto product = [](const std::vector<double>& p, const std::vector<double>& q) {
    return std::inner_product(p.begin(), p.end(), q.begin(), 0.0);
  };
  // Because of rounding, the quotient may be slightly outside [-1, 1].
  return std::clamp(product(a, b) / std::sqrt(product(a, a) * product(b, b)), -1.0, 1.0);
}

double spearman(std::span<const double> x, std::span<const double> y) {
  check(x, y);
  return pearson(ranks(x), ranks(y));
}

}  // namespace weft

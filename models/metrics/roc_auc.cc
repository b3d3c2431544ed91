#include "weft/models/metrics/roc_auc.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "weft/core/error.h"

namespace weft {

double roc_auc(std::span<const float> scores, std::span<const std::int32_t> labels) {
  if (scores.size() != labels.size())
    throw ArgumentError(
        fmt::format("there are {} scores, but {} labels", scores.size(), labels.size()));
  double ones = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != 0 && labels[i] != 1)
      throw ArgumentError(fmt::format("a label must be 0 or 1, not {}", labels[i]));
    if (std::isnan(scores[i])) throw ArgumentError(fmt::format("score {} is NaN", i));
    ones += labels[i];
  }
  const double zeros = static_cast<double>(labels.size()) - ones;
  if (ones == 0 || zeros == 0) return std::numeric_limits<double>::quiet_NaN();
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a] < scores[b]; });
  double above = 0, below = 0;  // correctly ordered pairs; zeros with a lower score
  for (std::size_t begin = 0; begin < order.size();) {
    double ones_here = 0, zeros_here = 0;
    std::size_t end = begin;
    for (; end < order.size() && scores[order[end]] == scores[order[begin]]; ++end)
      ++(labels[order[end]] == 1 ? ones_here : zeros_here);
    above += ones_here * (below + zeros_here / 2);
    below += zeros_here;
    begin = end;
  }
  return above / (ones * zeros);
}

}  // namespace weft

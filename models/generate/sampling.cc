#include "weft/models/generate/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/random.h"

namespace weft {

void SamplingOptions::check() const {
  if (!(temperature > 0) || std::isinf(temperature)) {
    throw ArgumentError(
        fmt::format("temperature must be positive, not {} (for the most likely token use greedy)",
                    temperature));
  }
  if (top_k < 0) throw ArgumentError(fmt::format("top_k must be 0 (all) or more, not {}", top_k));
  if (!(top_p > 0 && top_p <= 1))
    throw ArgumentError(fmt::format("top_p must be in (0, 1], not {}", top_p));
}

std::int32_t sample_token(std::span<const float> logits, const SamplingOptions& options,
                          std::int64_t row, std::int64_t index) {
  const auto best = std::max_element(logits.begin(), logits.end());
  if (best == logits.end() || !std::isfinite(*best) ||
      std::any_of(logits.begin(), logits.end(), [](float x) { return std::isnan(x); })) {
    throw DataError("the model's logits are not finite: its weights may have diverged in training");
  }
  if (options.greedy) return static_cast<std::int32_t>(best - logits.begin());

  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  if (options.top_k > 0 && options.top_k < static_cast<std::int64_t>(order.size()))
    order.resize(static_cast<std::size_t>(options.top_k));

  std::vector<double> mass(order.size());
  double total = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double logit = logits[static_cast<std::size_t>(order[i])];
    total += mass[i] = std::exp((logit - *best) / options.temperature);
  }
  // The nucleus: tokens are sorted, so it ends where the running sum reaches top_p.
  std::size_t kept = 0;
  double nucleus = 0;
  while (kept < order.size() && (kept == 0 || nucleus < options.top_p * total))
    nucleus += mass[kept++];

  const RandomStream stream{stable_hash("weft.sample", options.seed),
                            static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(index)};
  const PhiloxBlock block = stream.block(0);
  double left = uniform_double(block[0], block[1]) * nucleus;
  for (std::size_t i = 0; i + 1 < kept; ++i) {
    if (left < mass[i]) return order[i];
    left -= mass[i];
  }
  return order[kept - 1];
}

}  // namespace weft

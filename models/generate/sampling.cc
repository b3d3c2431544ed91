#include "weft/models/generate/sampling.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "weft/core/random.h"
#include "weft/models/generate/logits_rules.h"

namespace weft {
namespace {

void keep_top_k(std::int64_t k, std::vector<double>& scores) {
  if (k == 0 || k >= static_cast<std::int64_t>(scores.size())) return;
  std::vector<double> best(static_cast<std::size_t>(k));
  std::partial_sort_copy(scores.begin(), scores.end(), best.begin(), best.end(), std::greater<>());
  const double least = best.back();
  for (double& score : scores) {
    if (score < least) score = kForbidden;
  }
}

void keep_top_p(double p, std::vector<double>& scores) {
  if (p >= 1) return;
  // Ids are grouped by score, so that only the group in which the cumulative probability reaches p
  // is sorted: vocabularies have up to 300,000 ids.
  constexpr double kGroupsPerUnit = 16;
  constexpr std::size_t kGroups = 1024;
  const double best = *std::max_element(scores.begin(), scores.end());
  const auto group = [&](double score) {
    return static_cast<std::size_t>(
        std::min((best - score) * kGroupsPerUnit, static_cast<double>(kGroups - 1)));
  };
  std::vector<double> mass(kGroups);
  double total = 0;
  for (const double score : scores) {
    if (score != kForbidden) mass[group(score)] += std::exp(score - best);
  }
  for (const double in_group : mass) total += in_group;
  double before = 0;
  std::size_t last = 0;  // the group that contains the end of the nucleus
  while (last + 1 < kGroups && before + mass[last] < p * total) before += mass[last++];
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] == kForbidden) continue;
    const std::size_t own = group(scores[i]);
    if (own == last) order.push_back(i);
    if (own > last) scores[i] = kForbidden;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  // The nucleus ends when the cumulative probability reaches p.
  for (const std::size_t i : order) {
    const double own = std::exp(scores[i] - best);
    if (before >= p * total) scores[i] = kForbidden;
    before += own;
  }
}

void keep_min_p(double p, std::vector<double>& scores) {
  if (p == 0) return;
  const double best = *std::max_element(scores.begin(), scores.end());
  for (double& score : scores) {
    if (score != kForbidden && std::exp(score - best) < p) score = kForbidden;
  }
}

}  // namespace

void filter_scores(const SamplingOptions& options, std::vector<double>& scores) {
  // Only differences between scores matter. If the best score overflows when divided by a tiny
  // temperature, it is subtracted first.
  const double best = scores.empty() ? 0 : *std::max_element(scores.begin(), scores.end());
  const double shift = std::isfinite(best) && std::isinf(best / options.temperature) ? best : 0;
  for (double& score : scores) score = (score - shift) / options.temperature;
  keep_top_k(options.top_k, scores);
  keep_top_p(options.top_p, scores);
  keep_min_p(options.min_p, scores);
}

std::int64_t sample_id(const std::vector<double>& scores, std::uint64_t seed, std::int64_t row,
                       std::int64_t index) {
  const double best = *std::max_element(scores.begin(), scores.end());
  double total = 0;
  for (const double score : scores) {
    if (score != kForbidden) total += std::exp(score - best);
  }
  const RandomStream stream{stable_hash("weft.sample", seed), static_cast<std::uint32_t>(row),
                            static_cast<std::uint32_t>(index)};
  const PhiloxBlock block = stream.block(0);
  double left = uniform_double(block[0], block[1]) * total;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] == kForbidden) continue;
    last = static_cast<std::int64_t>(i);
    const double mass = std::exp(scores[i] - best);
    if (left < mass) return last;
    left -= mass;
  }
  return last;  // reached only because of rounding
}

}  // namespace weft

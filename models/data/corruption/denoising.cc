#include "weft/models/data/corruption/denoising.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/models/data/rng.h"

namespace weft {
namespace {

void check_rate(double rate) {
  if (!(rate >= 0 && rate <= 1))
    throw ArgumentError(fmt::format("rate must be in [0, 1], not {}", rate));
}

/// Returns the number of masked ids and the number of spans for a text with `length` ids.
std::pair<std::int64_t, std::int64_t> count_spans(std::int64_t length,
                                                  const SpanCorruptionOptions& options) {
  if (length < 2)
    throw ArgumentError(fmt::format("a text with {} ids is too short for span corruption", length));
  if (!(options.density > 0 && options.density < 1))
    throw ArgumentError(fmt::format("density must be in (0, 1), not {}", options.density));
  if (!(options.mean_span >= 1))
    throw ArgumentError(fmt::format("mean_span must be at least 1, not {}", options.mean_span));
  const auto rounded = [](double x) { return static_cast<std::int64_t>(std::llround(x)); };
  const std::int64_t hidden = std::clamp<std::int64_t>(
      rounded(static_cast<double>(length) * options.density), 1, length - 1);
  const std::int64_t spans =
      std::clamp<std::int64_t>(rounded(static_cast<double>(hidden) / options.mean_span), 1,
                               std::min(hidden, length - hidden));
  return {hidden, spans};
}

/// Mean span length and fraction of masked ids of UL2's denoisers, except the sequential denoiser.
constexpr std::pair<double, double> kMixture[] = {{3, 0.15}, {8, 0.15}, {3, 0.5},
                                                  {8, 0.5},  {64, 0.5}, {64, 0.15}};

/// Splits `total` into `parts` numbers of at least 1. All such splits are equally likely.
std::vector<std::int64_t> random_parts(std::int64_t total, std::int64_t parts, Rng& rng) {
  std::vector<char> first(static_cast<std::size_t>(total - 1), 0);
  std::fill_n(first.begin(), parts - 1, 1);
  rng.shuffle(first);
  std::vector<std::int64_t> result = {1};
  for (const char begins : first) {
    if (begins != 0) result.push_back(0);
    ++result.back();
  }
  return result;
}

void end(DenoisingExample& example, std::int64_t eos_id) {
  if (eos_id < 0) return;
  example.input.push_back(eos_id);
  example.target.push_back(eos_id);
}

void append(TokenIds& to, TokenSpan ids) { to.insert(to.end(), ids.begin(), ids.end()); }

}  // namespace

std::int64_t corrupted_spans(std::int64_t length, const SpanCorruptionOptions& options) {
  return count_spans(length, options).second;
}

DenoisingExample span_corruption(TokenSpan ids, const SpanCorruptionOptions& options,
                                 std::uint64_t seed) {
  const auto length = static_cast<std::int64_t>(ids.size());
  const auto [hidden, spans] = count_spans(length, options);
  if (spans + 1 > std::min(options.sentinels, options.first_sentinel + 1)) {
    throw ArgumentError(
        fmt::format("{} spans need {} sentinels down from first_sentinel {}, but there "
                    "are {}",
                    spans, spans + 1, options.first_sentinel, options.sentinels));
  }
  Rng rng(seed);
  const std::vector<std::int64_t> hide = random_parts(hidden, spans, rng);
  // Lengths of the kept parts before, between and after the spans. Only the first and the last part
  // may be empty.
  std::vector<std::int64_t> keep = random_parts(length - hidden + 2, spans + 1, rng);
  --keep.front();
  --keep.back();
  DenoisingExample example;
  std::size_t at = 0;
  const auto take = [&](std::int64_t count) {
    const TokenSpan part = ids.subspan(at, static_cast<std::size_t>(count));
    at += part.size();
    return part;
  };
  for (std::size_t i = 0; i < hide.size(); ++i) {
    const std::int64_t sentinel = options.first_sentinel - static_cast<std::int64_t>(i);
    append(example.input, take(keep[i]));
    example.input.push_back(sentinel);
    example.target.push_back(sentinel);
    append(example.target, take(hide[i]));
  }
  append(example.input, take(keep.back()));
  example.target.push_back(options.first_sentinel - spans);
  end(example, options.eos_id);
  return example;
}

DenoisingExample prefix_split(TokenSpan ids, std::int64_t eos_id, std::uint64_t seed) {
  if (ids.size() < 2)
    throw ArgumentError(fmt::format("a text with {} ids is too short to be split", ids.size()));
  Rng rng(seed);
  const auto cut =
      static_cast<std::size_t>(1 + rng.below(static_cast<std::int64_t>(ids.size()) - 1));
  DenoisingExample example;
  append(example.input, ids.first(cut));
  append(example.target, ids.subspan(cut));
  end(example, eos_id);
  return example;
}

DenoisingExample denoiser_mixture(TokenSpan ids, const MixtureOptions& options,
                                  std::uint64_t seed) {
  Rng rng(stable_hash("denoiser_mixture", seed));
  const auto kind = static_cast<std::size_t>(rng.below(7));
  DenoisingExample example;
  std::int64_t mode = options.sequential_id;
  if (kind < std::size(kMixture)) {
    mode = kind < 2 ? options.regular_id : options.extreme_id;
    example = span_corruption(ids,
                              {.density = kMixture[kind].second,
                               .mean_span = kMixture[kind].first,
                               .first_sentinel = options.first_sentinel,
                               .sentinels = options.sentinels,
                               .eos_id = options.eos_id},
                              seed);
  } else {
    example = prefix_split(ids, options.eos_id, seed);
  }
  example.input.insert(example.input.begin(), mode);
  return example;
}

std::int64_t mixture_spans(std::int64_t length) {
  std::int64_t most = 0;
  for (const auto& [mean_span, density] : kMixture)
    most = std::max(most, corrupted_spans(length, {.density = density, .mean_span = mean_span}));
  return most;
}

TokenIds mask_tokens(TokenSpan ids, std::int64_t mask_id, double rate, std::uint64_t seed) {
  check_rate(rate);
  Rng rng(seed);
  TokenIds result;
  for (const std::int64_t id : ids) result.push_back(rng.uniform() < rate ? mask_id : id);
  return result;
}

TokenIds delete_tokens(TokenSpan ids, double rate, std::uint64_t seed) {
  check_rate(rate);
  Rng rng(seed);
  TokenIds result;
  for (const std::int64_t id : ids) {
    if (rng.uniform() >= rate) result.push_back(id);
  }
  return result;
}

TokenIds infill_text(TokenSpan ids, std::int64_t mask_id, double rate, double mean_span,
                     std::uint64_t seed) {
  check_rate(rate);
  if (!(mean_span > 0))
    throw ArgumentError(fmt::format("mean_span must be positive, not {}", mean_span));
  Rng rng(seed);
  const auto length = static_cast<std::int64_t>(ids.size());
  auto left = static_cast<std::int64_t>(std::llround(rate * static_cast<double>(length)));
  // spans[i] contains the lengths of the spans that begin at id i. Spans do not overlap.
  std::vector<std::vector<std::int64_t>> spans(ids.size());
  std::vector<char> taken(ids.size(), 0);
  while (left > 0) {
    const std::int64_t want = std::min(rng.poisson(mean_span), left);
    const auto at = static_cast<std::size_t>(rng.below(length));
    if (taken[at] != 0) continue;
    std::int64_t size = 0;
    while (size < want && at + static_cast<std::size_t>(size) < ids.size() &&
           taken[at + static_cast<std::size_t>(size)] == 0)
      taken[at + static_cast<std::size_t>(size++)] = 1;
    spans[at].push_back(size);
    left -= size;
  }
  TokenIds result;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::size_t s = 0; s < spans[i].size(); ++s) result.push_back(mask_id);
    if (taken[i] == 0) result.push_back(ids[i]);
  }
  return result;
}

TokenIds permute_sentences(const std::vector<TokenIds>& sentences, std::uint64_t seed) {
  std::vector<std::size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Rng(seed).shuffle(order);
  TokenIds result;
  for (const std::size_t i : order) append(result, sentences[i]);
  return result;
}

TokenIds rotate_document(TokenSpan ids, std::uint64_t seed) {
  TokenIds result(ids.begin(), ids.end());
  if (ids.empty()) return result;
  const std::int64_t first = Rng(seed).below(static_cast<std::int64_t>(ids.size()));
  std::rotate(result.begin(), result.begin() + first, result.end());
  return result;
}

DenoisingExample gap_sentences(const std::vector<TokenIds>& sentences, std::int64_t count,
                               std::int64_t mask_id, std::int64_t eos_id) {
  if (count < 1 || count >= static_cast<std::int64_t>(sentences.size())) {
    throw ArgumentError(
        fmt::format("count must be at least 1 and less than the number of sentences ({}), not {}",
                    sentences.size(), count));
  }
  std::map<std::int64_t, std::int64_t> document;
  std::int64_t length = 0;
  for (const TokenIds& sentence : sentences) {
    for (const std::int64_t id : sentence) ++document[id];
    length += static_cast<std::int64_t>(sentence.size());
  }
  // The F1 score is negated, so that sorting keeps ties in text order.
  std::vector<std::pair<double, std::size_t>> ranked;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    std::map<std::int64_t, std::int64_t> own;
    for (const std::int64_t id : sentences[i]) ++own[id];
    std::int64_t shared = 0;
    for (const auto& [id, n] : own) shared += std::min(n, document[id] - n);
    // F1 score of precision (shared / own length) and recall (shared / length of the rest).
    ranked.emplace_back(
        length == 0 ? 0.0 : -2.0 * static_cast<double>(shared) / static_cast<double>(length), i);
  }
  std::stable_sort(ranked.begin(), ranked.end());
  std::vector<char> gap(sentences.size(), 0);
  for (std::int64_t i = 0; i < count; ++i) gap[ranked[static_cast<std::size_t>(i)].second] = 1;
  DenoisingExample example;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    if (gap[i] != 0) {
      example.input.push_back(mask_id);
      append(example.target, sentences[i]);
    } else {
      append(example.input, sentences[i]);
    }
  }
  end(example, eos_id);
  return example;
}

}  // namespace weft

#include "weft/models/vectors/word_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/error.h"

namespace weft {
namespace {

// SplitMix64 (Steele, Lea and Flood 2014). Each word requires several random numbers, and Philox
// would dominate the training time.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

class PositionRng {
 public:
  /// `stream` selects one of the independent streams of a position.
  PositionRng(std::uint64_t seed, std::int64_t epoch, std::int64_t position, std::uint64_t stream)
      : state_(mixed(
            mixed(seed + 0x9E3779B97F4A7C15u * (2 * static_cast<std::uint64_t>(epoch) + stream)) +
            static_cast<std::uint64_t>(position))) {}
  std::uint64_t next() { return mixed(state_ += 0x9E3779B97F4A7C15u); }

 private:
  std::uint64_t state_;
};

std::uint32_t share_of_32_bits(double share) {
  constexpr double kAll = 4294967295.0;
  return static_cast<std::uint32_t>(std::min(share * 4294967296.0, kAll));
}

/// Maps 32 random bits to a number below `bound`: the high half of the product.
std::uint32_t below(std::uint32_t bits, std::uint64_t bound) {
  return static_cast<std::uint32_t>(bits * bound >> 32);
}

}  // namespace

WordWindows::WordWindows(const WordText& text, const WindowOptions& options)
    : text_(text), options_(options) {
  if (options.window < 1 || options.negatives < 1)
    throw ArgumentError(fmt::format("window ({}) and negatives ({}) must be at least 1",
                                    options.window, options.negatives));
  if (!(options.subsample >= 0))
    throw ArgumentError(
        fmt::format("subsample must not be negative, but is {}", options.subsample));
  const std::int64_t words = text.counts.size();
  if (words < 2) throw ArgumentError("training needs a text with at least 2 different words");
  std::vector<double> weights;
  double total = 0;
  for (std::int64_t w = 0; w < words; ++w) {
    const double count = static_cast<double>(text.counts.count(w));
    const double relative = count / static_cast<double>(text.size()) / options.subsample;
    kept_share_.push_back(options.subsample == 0
                              ? std::numeric_limits<std::uint32_t>::max()
                              : share_of_32_bits(std::sqrt(1 / relative) + 1 / relative));
    largest_share_ = std::max(largest_share_, count / static_cast<double>(text.size()) *
                                                  kept_share_.back() / 4294967296.0);
    weights.push_back(std::pow(count, 0.75));
    total += weights.back();
  }
  // A word with a weight below 1 is topped up to 1 by a word with a weight above 1, its alias.
  own_share_.assign(weights.size(), std::numeric_limits<std::uint32_t>::max());
  alias_.resize(weights.size());
  std::vector<std::size_t> less, more;
  for (std::size_t w = 0; w < weights.size(); ++w) {
    weights[w] *= static_cast<double>(words) / total;
    alias_[w] = static_cast<std::int32_t>(w);
    (weights[w] < 1 ? less : more).push_back(w);
  }
  while (!less.empty() && !more.empty()) {
    const std::size_t small = less.back(), large = more.back();
    less.pop_back();
    own_share_[small] = share_of_32_bits(weights[small]);
    alias_[small] = static_cast<std::int32_t>(large);
    weights[large] -= 1 - weights[small];
    if (weights[large] >= 1) continue;
    more.pop_back();
    less.push_back(large);
  }
}

bool WordWindows::keeps(std::int64_t epoch, std::int64_t position) const {
  const auto word = static_cast<std::size_t>(text_.words[static_cast<std::size_t>(position)]);
  if (kept_share_[word] == std::numeric_limits<std::uint32_t>::max()) return true;
  const auto bits =
      static_cast<std::uint32_t>(PositionRng(options_.seed, epoch, position, 0).next());
  return bits < kept_share_[word];
}

void WordWindows::for_sentence(std::int64_t epoch, std::int64_t begin, std::int64_t end,
                               std::int64_t sentence_begin, std::int64_t sentence_end,
                               Scratch& scratch, FunctionRef<void(const Example&)> use) const {
  std::vector<std::int32_t>& kept = scratch.kept;
  std::vector<std::int64_t>& positions = scratch.positions;
  kept.clear();
  positions.clear();
  const auto window = static_cast<std::size_t>(options_.window);
  const auto keep = [&](std::int64_t position) {
    if (!keeps(epoch, position)) return;
    kept.push_back(text_.words[static_cast<std::size_t>(position)]);
    positions.push_back(position);
  };
  for (std::int64_t p = begin - 1; p >= sentence_begin && kept.size() < window; --p) keep(p);
  std::reverse(kept.begin(), kept.end());
  std::reverse(positions.begin(), positions.end());
  const std::size_t first = kept.size();
  for (std::int64_t p = begin; p < end; ++p) keep(p);
  const std::size_t last = kept.size();
  for (std::int64_t p = end; p < sentence_end && kept.size() < last + window; ++p) keep(p);

  const auto words = static_cast<std::uint64_t>(own_share_.size());
  for (std::size_t i = first; i < last; ++i) {
    PositionRng rng(options_.seed, epoch, positions[i], 1);
    const std::size_t reach = 1 + below(static_cast<std::uint32_t>(rng.next() >> 32), window);
    scratch.context.clear();
    for (std::size_t j = i > reach ? i - reach : 0; j <= i + reach && j < kept.size(); ++j) {
      if (j != i) scratch.context.push_back(kept[j]);
    }
    if (scratch.context.empty()) continue;
    scratch.candidates.assign(1, kept[i]);
    for (int n = 0; n < options_.negatives; ++n) {
      const std::uint64_t bits = rng.next();
      const std::size_t w = below(static_cast<std::uint32_t>(bits >> 32), words);
      const bool own = static_cast<std::uint32_t>(bits) <= own_share_[w];
      const std::int32_t word = own ? static_cast<std::int32_t>(w) : alias_[w];
      if (word != kept[i]) scratch.candidates.push_back(word);
    }
    use({scratch.context, scratch.candidates});
  }
}

void WordWindows::for_examples(std::int64_t epoch, std::int64_t begin, std::int64_t end,
                               Scratch& scratch, FunctionRef<void(const Example&)> use) const {
  end = std::min(end, text_.size());
  auto sentence = std::upper_bound(text_.ends.begin(), text_.ends.end(), begin);
  while (begin < end) {
    const std::int64_t sentence_begin = sentence == text_.ends.begin() ? 0 : *(sentence - 1);
    const std::int64_t own_end = std::min(end, *sentence);
    for_sentence(epoch, begin, own_end, sentence_begin, *sentence, scratch, use);
    begin = own_end;
    ++sentence;
  }
}

}  // namespace weft

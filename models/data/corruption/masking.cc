#include "weft/models/data/corruption/masking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/models/data/rng.h"

namespace weft {
namespace {

void check(const MaskingOptions& options) {
  const auto share = [](std::string_view name, double value, double most) {
    if (!(value >= 0 && value <= most))
      throw ArgumentError(fmt::format("{} must be in [0, {}], not {}", name, most, value));
  };
  share("rate", options.rate, 1);
  share("mask_share", options.mask_share, 1);
  share("random_share", options.random_share, 1 - options.mask_share);
  if (options.special.empty() ||
      (options.whole_words && options.word_start.size() != options.special.size())) {
    throw ArgumentError(
        fmt::format("the tables of special ids ({}) and of word starts ({}) must have an entry "
                    "for every id",
                    options.special.size(), options.word_start.size()));
  }
}

}  // namespace

MaskingOptions masking_options(const Tokenizer& tokenizer, bool whole_words) {
  if (tokenizer.mask_id() < 0) throw ArgumentError("the tokenizer has no id for [MASK]");
  MaskingOptions options{.whole_words = whole_words, .mask_id = tokenizer.mask_id()};
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    options.special.push_back(tokenizer.is_special(id) ? 1 : 0);
    options.word_start.push_back(tokenizer.is_word_start(id) ? 1 : 0);
  }
  return options;
}

MaskedTokens masked_tokens(std::span<const std::int32_t> ids, const MaskingOptions& options,
                           std::uint64_t seed, std::int64_t step, std::int64_t row) {
  check(options);
  const auto vocab = static_cast<std::int64_t>(options.special.size());
  MaskedTokens result{{ids.begin(), ids.end()}, std::vector<std::int32_t>(ids.size(), -100)};
  std::vector<std::vector<std::size_t>> words;  // single tokens unless whole_words is set
  std::int64_t candidates = 0;
  bool inside = false;  // true inside a word
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= vocab)
      throw DataError(fmt::format("token id {} is outside the vocabulary [0, {})", ids[i], vocab));
    const auto id = static_cast<std::size_t>(ids[i]);
    if (options.special[id] != 0) {
      inside = false;
      continue;
    }
    if (!options.whole_words || !inside || options.word_start[id] != 0) words.emplace_back();
    words.back().push_back(i);
    inside = true;
    ++candidates;
  }
  if (words.empty() || options.rate == 0) return result;

  Rng rng(stable_hash("masked_tokens", seed), static_cast<std::uint32_t>(row),
          static_cast<std::uint32_t>(step));
  rng.shuffle(words);
  const std::int64_t wanted =
      std::max<std::int64_t>(1, std::llround(options.rate * static_cast<double>(candidates)));
  std::int64_t hidden = 0;
  for (const std::vector<std::size_t>& word : words) {
    const auto size = static_cast<std::int64_t>(word.size());
    if (hidden > 0 && hidden + size > wanted) continue;
    for (const std::size_t i : word) {
      result.labels[i] = ids[i];
      const double choice = rng.uniform();
      if (choice < options.mask_share) {
        result.ids[i] = options.mask_id;
      } else if (choice < options.mask_share + options.random_share) {
        std::int32_t other = 0;
        do {
          other = static_cast<std::int32_t>(rng.below(vocab));
        } while (options.special[static_cast<std::size_t>(other)] != 0);
        result.ids[i] = other;
      }
    }
    hidden += size;
    if (hidden >= wanted) break;
  }
  return result;
}

}  // namespace weft

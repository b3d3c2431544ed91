#include "weft/models/text/tokenizers/train/word_level_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "weft/core/error.h"

namespace weft {

std::vector<std::string> train_word_level(const WordTable& words,
                                          const WordLevelTrainerOptions& options) {
  if (options.vocab < 0)
    throw ArgumentError(fmt::format("vocab must be 0 or more, not {}", options.vocab));
  const auto most = static_cast<std::size_t>(options.vocab);
  std::vector<std::string> vocabulary;
  std::unordered_set<std::string_view> known;
  for (const std::string& token : options.special_tokens)
    if (vocabulary.size() < most && known.insert(token).second) vocabulary.push_back(token);
  std::vector<std::size_t> order(words.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) { return words.count(i) < options.min_frequency; });
  // The byte order of UTF-8 equals code point order. The sorted range is large enough even if some
  // of its words are special tokens, which are skipped below.
  const auto wanted = order.begin() + static_cast<std::ptrdiff_t>(std::min(order.size(), most));
  std::partial_sort(order.begin(), wanted, order.end(), [&](std::size_t a, std::size_t b) {
    return words.count(a) != words.count(b) ? words.count(a) > words.count(b)
                                            : words.word(a) < words.word(b);
  });
  for (auto word = order.begin(); word != wanted && vocabulary.size() < most; ++word)
    if (!known.contains(words.word(*word))) vocabulary.emplace_back(words.word(*word));
  return vocabulary;
}

}  // namespace weft

#include "weft/models/vectors/word_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/data/features/tfidf.h"

namespace weft {

WordCounts::WordCounts(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return a.count != b.count ? a.count > b.count : a.word < b.word;
  });
  numbers_.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    const auto number = static_cast<std::int32_t>(numbers_.size());
    if (!numbers_.emplace(entry.word, number).second)
      throw ArgumentError(fmt::format("the word '{}' occurs twice", entry.word));
  }
}

std::int32_t WordCounts::find(std::string_view word) const {
  const auto it = numbers_.find(std::string(word));
  return it == numbers_.end() ? -1 : it->second;
}

std::vector<std::string> WordCounts::words() const {
  std::vector<std::string> result;
  for (const Entry& entry : entries_) result.push_back(entry.word);
  return result;
}

void WordTextBuilder::add_sentence(std::string_view sentence) {
  for (std::string& word : words(sentence, false)) {
    if (counts_.size() == static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
      throw DataError("the text has too many different words for 32-bit word numbers");
    const auto [it, is_new] =
        numbers_.try_emplace(std::move(word), static_cast<std::int32_t>(counts_.size()));
    if (is_new) counts_.push_back(0);
    ++counts_[static_cast<std::size_t>(it->second)];
    words_.push_back(it->second);
  }
  ends_.push_back(static_cast<std::int64_t>(words_.size()));
}

WordText WordTextBuilder::finish(std::int64_t min_count) {
  std::vector<WordCounts::Entry> kept;
  for (const auto& [word, number] : numbers_) {
    const std::int64_t count = counts_[static_cast<std::size_t>(number)];
    if (count >= min_count) kept.push_back({word, count});
  }
  if (kept.empty()) {
    throw DataError(words_.empty()
                        ? std::string("the text has no words")
                        : fmt::format("none of the text's {} words occurs {} times or more",
                                      counts_.size(), min_count));
  }
  WordText text{WordCounts(std::move(kept)), {}, {}, 0};
  std::vector<std::int32_t> renumbered(counts_.size(), -1);
  for (const auto& [word, number] : numbers_)
    renumbered[static_cast<std::size_t>(number)] = text.counts.find(word);
  std::size_t at = 0;
  for (const std::int64_t end : ends_) {
    const std::int64_t before = text.size();
    for (; at < static_cast<std::size_t>(end); ++at) {
      const std::int32_t word = renumbered[static_cast<std::size_t>(words_[at])];
      if (word >= 0) text.words.push_back(word);
    }
    if (text.size() > before) text.ends.push_back(text.size());
  }
  text.rare = static_cast<std::int64_t>(words_.size()) - text.size();
  *this = WordTextBuilder();
  return text;
}

}  // namespace weft

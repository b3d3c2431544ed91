#include "weft/models/text/tokenizers/train/sentence_words.h"

#include <algorithm>
#include <string>

#include "weft/models/text/tokenizers/base/sentence_piece_text.h"
#include "weft/models/text/tokenizers/train/count_words.h"

namespace weft {

using sentence_piece::kBlankCharacter;

WordTable count_sentence_words(TextSource& texts, const SentencePieceNormalizer& normalizer,
                               const PieceTrie& symbols, bool followed, Workers& workers) {
  const auto ends = [](std::string_view, char32_t c) { return c == kBlankCharacter; };
  const auto add_line = [&](std::string_view line, WordTable& words) {
    std::string with_next;
    for_each_word(normalizer.normalise(line), symbols, ends,
                  [&](std::string_view word, char32_t next) {
                    if (!followed) return words.add(word);
                    with_next = word;
                    append_utf8(with_next, next);
                    words.add(with_next);
                  });
  };
  return count_parts(texts, workers, [&](std::string_view part, WordTable& words, int) {
    for (std::size_t begin = 0; begin <= part.size();) {
      const std::size_t end = std::min(part.find('\n', begin), part.size());
      add_line(part.substr(begin, end - begin), words);
      begin = end + 1;
    }
  });
}

void CharacterCounts::add(std::u32string_view text, std::int64_t count) {
  for (const char32_t c : text) counts_[c] += count;
  total_ += count * static_cast<std::int64_t>(text.size());
}

CountedCharacters CharacterCounts::required(double coverage, bool blank_first) const {
  CountedCharacters ranked(counts_.begin(), counts_.end()), result;
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::int64_t covered = 0;
  if (blank_first) {
    const auto blank = counts_.find(kBlankCharacter);
    covered = blank == counts_.end() ? 0 : blank->second;
    result.emplace_back(kBlankCharacter, covered);
    std::erase_if(ranked, [](const auto& one) { return one.first == kBlankCharacter; });
  }
  for (const auto& [c, count] : ranked) {
    if (static_cast<double>(covered) >= coverage * static_cast<double>(total_)) break;
    covered += count;
    result.emplace_back(c, count);
  }
  return result;
}

}  // namespace weft

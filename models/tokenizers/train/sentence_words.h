// The words that SentencePiece's models are learned from, and the characters that these must have.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/models/tokenizers/normalizers/sentence_piece_normalizer.h"
#include "weft/models/tokenizers/subwords/piece_trie.h"
#include "weft/models/tokenizers/train/text_source.h"
#include "weft/models/tokenizers/train/word_table.h"
#include "weft/models/tokenizers/utf8.h"

namespace WEFT_API weft {

/// give(word, next): every word of a normalised text, and the character behind it: 0 where none is.
/// A word ends in front of `c` where ends(word so far, c) says so, and at one of `symbols`, which
/// is part of none. Throws FormatError for invalid UTF-8.
template <class Ends, class Give>
void for_words(std::string_view text, const PieceTrie& symbols, const Ends& ends,
               const Give& give) {
  std::size_t begin = 0;
  const auto end = [&](std::size_t at, char32_t next) {
    if (at > begin) give(text.substr(begin, at - begin), next);
  };
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t symbol = symbols.longest(text.substr(at)).size; symbol > 0) {
      end(at, 0);
      begin = at += symbol;
      continue;
    }
    const std::size_t here = at;
    const char32_t c = next_code_point(text, at);
    if (!ends(text.substr(begin, here - begin), c)) continue;
    end(here, c);
    begin = here;
  }
  end(text.size(), 0);
}

/// The words of all lines of `texts`, each with the blank in front. `followed`: each with the
/// character that follows behind it, the blank of the next word or zero.
WordTable count_sentence_words(TextSource& texts, const SentencePieceNormalizer& normalizer,
                               const PieceTrie& symbols, bool followed, Workers& workers);

/// Characters with how often each occurs.
using CountedCharacters = std::vector<std::pair<char32_t, std::int64_t>>;

/// Counts characters, for the question which of them a vocabulary must have.
class CharacterCounts {
 public:
  /// A text that occurs `count` times.
  void add(std::u32string_view text, std::int64_t count);
  /// The most frequent ones that make up the share `coverage` of all, the most frequent first, of
  /// equals the first. `blank_first`: that of SentencePiece is the first of them, however rare.
  CountedCharacters required(double coverage, bool blank_first = false) const;

 private:
  std::map<char32_t, std::int64_t> counts_;
  std::int64_t total_ = 0;
};

}  // namespace weft

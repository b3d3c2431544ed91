// Counts the words on which SentencePiece models are trained, and the characters that the models
// must contain.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/models/text/tokenizers/normalizers/sentence_piece_normalizer.h"
#include "weft/models/text/tokenizers/subwords/piece_trie.h"
#include "weft/models/text/tokenizers/train/text_source.h"
#include "weft/models/text/tokenizers/train/word_table.h"
#include "weft/models/text/unicode/utf8.h"

namespace WEFT_API weft {

/// Calls give(word, next) for each word of a normalised text. `next` is the character after the
/// word, or 0 at the end of the text and before a symbol. A word ends before the character `c` if
/// ends(word, c) returns true for the word so far. It also ends at each of `symbols`, which are not
/// part of any word. Throws FormatError for invalid UTF-8.
template <class Ends, class Give>
void for_each_word(std::string_view text, const PieceTrie& symbols, const Ends& ends,
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

/// Counts the words in all lines of `texts`. Words include their leading U+2581. If `followed` is
/// true, the character after the word is appended: the U+2581 of the next word, or U+0000.
WordTable count_sentence_words(TextSource& texts, const SentencePieceNormalizer& normalizer,
                               const PieceTrie& symbols, bool followed, Workers& workers);

/// Characters with their numbers of occurrences.
using CountedCharacters = std::vector<std::pair<char32_t, std::int64_t>>;

/// Counts characters to determine which of them a vocabulary must contain.
class CharacterCounts {
 public:
  /// Adds the characters of a text that occurs `count` times.
  void add(std::u32string_view text, std::int64_t count);
  /// Returns the most frequent characters that together make up the fraction `coverage` of all
  /// characters, in order of frequency, with ties in code point order. If `blank_first` is true,
  /// U+2581 is always the first character of the result, even if it is rare.
  CountedCharacters required(double coverage, bool blank_first = false) const;

 private:
  std::map<char32_t, std::int64_t> counts_;
  std::int64_t total_ = 0;
};

}  // namespace weft

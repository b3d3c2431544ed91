// Byte pairs of characters (Sennrich et al. 2016), as SentencePiece learns them from words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/tokenizers/train/sentence_words.h"
#include "weft/models/tokenizers/train/word_table.h"

namespace WEFT_API weft {

struct CharacterPairRules {
  /// Rarer pairs do not become a piece.
  std::int64_t least = 2;
  /// Whether a text may be one. Where it may not, no longer one that has it inside may.
  bool (*is_piece)(std::u32string_view text);
  /// A pair that spells a piece which is there becomes that one, too. Else it stays a pair, as in
  /// SentencePiece: encoding joins it all the same.
  bool joins_to_known = false;
};

/// The pieces that pairs of neighbours in words become, in order, `wanted` at most: always that of
/// the most frequent pair, of equals the shortest, then the first in order of characters. What is
/// none of `characters` parts words. Throws DataError for more than 2^32 characters in different
/// words.
std::vector<std::u32string> learn_pairs(const WordTable& words, const CountedCharacters& characters,
                                        std::size_t wanted, const CharacterPairRules& rules);

}  // namespace weft

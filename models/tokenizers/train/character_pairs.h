// BPE on characters (Sennrich et al. 2016), as SentencePiece learns it from words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/tokenizers/train/sentence_words.h"
#include "weft/models/tokenizers/train/word_table.h"

namespace WEFT_API weft {

/// The rules for pieces that are learned from pairs of characters.
struct CharacterPairRules {
  /// Rarer pairs do not become a piece.
  std::int64_t least = 2;
  /// Returns true if a text may be a piece. If it returns false, it must also return false for
  /// every text that contains this one.
  bool (*is_piece)(std::u32string_view text);
  /// If true, a pair with the same text as an existing piece is merged into that piece. If false,
  /// it stays a pair during training, as in SentencePiece; encoding joins it in any case.
  bool joins_to_known = false;
};

/// Returns at most `wanted` pieces in the order in which they are merged: always the most frequent
/// pair of adjacent symbols. Ties are resolved in favour of the shortest piece, then of the first
/// in code point order. Words are split at all characters that are not in `characters`. Throws
/// DataError for more than 2^32 characters in distinct words.
std::vector<std::u32string> learn_pairs(const WordTable& words, const CountedCharacters& characters,
                                        std::size_t wanted, const CharacterPairRules& rules);

}  // namespace weft

// BPE on characters (Sennrich et al. 2016), trained on words in the same way as in SentencePiece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/text/tokenizers/train/sentence_words.h"
#include "weft/models/text/tokenizers/train/word_table.h"

namespace WEFT_API weft {

/// Rules for pieces that are learned by merging pairs of characters.
struct CharacterPairRules {
  /// Pairs that occur fewer times than this do not become pieces.
  std::int64_t least = 2;
  /// Returns true if a text may be a piece. If it returns false for a text, it must also return
  /// false for every text that contains this text.
  bool (*is_piece)(std::u32string_view text);
  /// If true, a pair with the same text as an existing piece is merged into that piece. If false,
  /// it remains a pair during training, as in SentencePiece, although encoding joins it in either
  /// case.
  bool joins_to_known = false;
};

/// Returns at most `wanted` pieces in the order in which they are merged: each step merges the most
/// frequent pair of adjacent symbols. Ties are resolved in favour of the shortest piece, and then
/// of the first piece in code point order. Words are split at all characters that are not in
/// `characters`. Throws DataError if the distinct words have more than 2^32 characters in total.
std::vector<std::u32string> learn_pairs(const WordTable& words, const CountedCharacters& characters,
                                        std::size_t wanted, const CharacterPairRules& rules);

}  // namespace weft

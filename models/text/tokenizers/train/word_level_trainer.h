// Trains vocabularies that consist of whole words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/text/tokenizers/train/word_table.h"

namespace WEFT_API weft {

struct WordLevelTrainerOptions {
  /// Maximum number of ids, including special tokens.
  std::int64_t vocab = 30000;
  /// Words that occur fewer times than this have no id.
  std::int64_t min_frequency = 0;
  /// Special tokens. They have the first ids. Duplicates are ignored.
  std::vector<std::string> special_tokens = {};
};

/// Returns the special tokens, followed by the most frequent words in order of frequency, with ties
/// in code point order. Throws ArgumentError if an option is out of range.
std::vector<std::string> train_word_level(const WordTable& words,
                                          const WordLevelTrainerOptions& options);

}  // namespace weft

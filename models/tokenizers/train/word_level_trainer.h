// A vocabulary of whole words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/tokenizers/train/word_table.h"

namespace WEFT_API weft {

struct WordLevelTrainerOptions {
  /// Ids at most, special tokens among them.
  std::int64_t vocab = 30000;
  /// Rarer words have no id.
  std::int64_t min_frequency = 0;
  /// The first ids; where one occurs twice, the first counts.
  std::vector<std::string> special_tokens = {};
};

/// Special tokens and the most frequent words, the most frequent first, equals in order of code
/// points. Throws ArgumentError for options out of range.
std::vector<std::string> train_word_level(const WordTable& words,
                                          const WordLevelTrainerOptions& options);

}  // namespace weft

// WordPiece's vocabulary, as Hugging Face's library learns it: that of byte-pair encoding whose
// pieces inside of words have a mark in front.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/tokenizers/train/word_table.h"

namespace WEFT_API weft {

struct WordPieceTrainerOptions {
  // See BpeTrainerOptions.
  std::int64_t vocab = 30000;
  std::int64_t min_frequency = 0;
  std::vector<std::string> special_tokens = {};
  std::u32string initial_alphabet = {};
  std::optional<std::int64_t> limit_alphabet = {};
  std::string continuing_subword_prefix = "##";
  std::string end_of_word_suffix = {};
};

/// Pieces in order of id. Which of equally frequent pairs goes first is arbitrary in the library;
/// here characters have their ids in order of code point, and the smaller ids go first. Throws as
/// train_bpe.
std::vector<std::string> train_word_pieces(const WordTable& words,
                                           const WordPieceTrainerOptions& options);

}  // namespace weft

// Trains WordPiece vocabularies in the same way as Hugging Face's tokenizers library, which uses
// BPE with a prefix for pieces that continue a word.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/text/tokenizers/train/word_table.h"

namespace WEFT_API weft {

/// Options for WordPiece training. The fields are documented in BpeTrainerOptions.
struct WordPieceTrainerOptions {
  std::int64_t vocab = 30000;
  std::int64_t min_frequency = 0;
  std::vector<std::string> special_tokens = {};
  std::u32string initial_alphabet = {};
  std::optional<std::int64_t> limit_alphabet = {};
  std::string continuing_subword_prefix = "##";
  std::string end_of_word_suffix = {};
};

/// Returns the pieces in order of id. Hugging Face's tokenizers library resolves ties between
/// equally frequent pairs arbitrarily. In this implementation, characters have ids in code point
/// order, and pairs with smaller ids are merged first. Throws the same exceptions as train_bpe().
std::vector<std::string> train_word_pieces(const WordTable& words,
                                           const WordPieceTrainerOptions& options);

}  // namespace weft

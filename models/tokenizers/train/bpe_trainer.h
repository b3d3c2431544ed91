// Trains byte-pair encoding (Sennrich et al. 2016): repeatedly merges the most frequent pair of
// adjacent symbols into one piece. Pieces and merges match those of Hugging Face's tokenizers
// library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/tokenizers/train/word_table.h"

namespace WEFT_API weft {

struct BpeTrainerOptions {
  /// Maximum number of pieces. Special tokens and characters count, but are always in the
  /// vocabulary, even if they exceed the limit.
  std::int64_t vocab = 30000;
  /// Rarer pairs are not merged.
  std::int64_t min_frequency = 0;
  /// Special tokens, which get the first ids. Duplicates are ignored.
  std::vector<std::string> special_tokens = {};
  /// Characters that get an id even if they do not occur.
  std::u32string initial_alphabet = {};
  /// Maximum number of characters with an id: the most frequent ones, with ties resolved in code
  /// point order. Other characters are removed from words.
  std::optional<std::int64_t> limit_alphabet = {};
  /// Prefix of pieces that continue a word ("##").
  std::string continuing_subword_prefix = {};
  /// Suffix of pieces at the end of a word.
  std::string end_of_word_suffix = {};
  /// Pieces of three characters or more must have fewer characters than this. This is the rule of
  /// Hugging Face's tokenizers library.
  std::optional<std::int64_t> max_token_length = {};
  /// Words are raw bytes; pieces are spelled in GPT-2's byte alphabet.
  bool words_are_bytes = false;
};

/// The result of training: pieces in order of id, and merges in order of rank.
struct LearnedBpe {
  std::vector<std::string> pieces;
  std::vector<std::pair<std::string, std::string>> merges;
};

/// Trains BPE on `words`. Ties between equally frequent pairs are resolved by the smaller left id,
/// then the smaller right id. Throws ArgumentError for options out of range, DataError for more
/// than 2^32 characters in distinct words.
LearnedBpe train_bpe(const WordTable& words, const BpeTrainerOptions& options);

}  // namespace weft

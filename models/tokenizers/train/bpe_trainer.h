// Byte-pair encoding learned from words (Sennrich et al. 2016): the pair of neighbours that occurs
// most often becomes one piece, again and again. Pieces and merges are those that Hugging Face's
// library finds.
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
  /// Pieces at most, special tokens and characters among them; these are all taken, also where
  /// they are more.
  std::int64_t vocab = 30000;
  /// Rarer pairs are not merged.
  std::int64_t min_frequency = 0;
  /// The first ids; where one occurs twice, the first counts.
  std::vector<std::string> special_tokens = {};
  /// Characters that get an id, whether they occur or not.
  std::u32string initial_alphabet = {};
  /// Ids of characters at most: the most frequent stay, of equals the first; others are left out
  /// of words as if they were not there.
  std::optional<std::int64_t> limit_alphabet = {};
  /// What is put in front of pieces inside of words ("##"), and behind pieces at their ends.
  std::string continuing_subword_prefix = {};
  std::string end_of_word_suffix = {};
  /// No piece of three characters or more has as many as that, or more (the library's rule).
  std::optional<std::int64_t> max_token_length = {};
  /// Words are bytes: pieces spell them in GPT-2's alphabet.
  bool words_are_bytes = false;
};

/// Pieces in order of id, and the merges in order.
struct LearnedBpe {
  std::vector<std::string> pieces;
  std::vector<std::pair<std::string, std::string>> merges;
};

/// Of pairs that are equally frequent, the one goes first whose left id is smaller, then the one
/// whose right id is. Throws ArgumentError for options out of range, DataError for more than 2^32
/// characters in different words.
LearnedBpe train_bpe(const WordTable& words, const BpeTrainerOptions& options);

}  // namespace weft

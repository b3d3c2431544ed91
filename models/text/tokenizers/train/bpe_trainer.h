// Trains byte-pair encoding (Sennrich et al. 2016): repeatedly merges the most frequent pair of
// adjacent symbols into one piece. The resulting pieces and merges are identical to those of
// Hugging Face's tokenizers library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/text/tokenizers/train/word_table.h"

namespace WEFT_API weft {

struct BpeTrainerOptions {
  /// Maximum number of pieces. Special tokens and characters count towards this limit, but are
  /// included in the vocabulary even if they exceed it.
  std::int64_t vocab = 30000;
  /// Pairs that occur fewer times than this are not merged.
  std::int64_t min_frequency = 0;
  /// Special tokens. They have the first ids. Duplicates are ignored.
  std::vector<std::string> special_tokens = {};
  /// Characters that are assigned an id even if they do not occur in the words.
  std::u32string initial_alphabet = {};
  /// Maximum number of characters with an id. The most frequent characters are chosen; ties are
  /// resolved in code point order. All other characters are removed from words.
  std::optional<std::int64_t> limit_alphabet = {};
  /// Prefix of pieces that continue a word ("##").
  std::string continuing_subword_prefix = {};
  /// Suffix of pieces at the end of a word.
  std::string end_of_word_suffix = {};
  /// Merged pieces must have fewer characters than this, except that a merge of two characters is
  /// always allowed, as in Hugging Face's tokenizers library.
  std::optional<std::int64_t> max_token_length = {};
  /// If true, words are raw bytes, and pieces are spelled in GPT-2's byte alphabet.
  bool words_are_bytes = false;
};

/// The result of training: pieces in order of id and merges in order of rank.
struct LearnedBpe {
  std::vector<std::string> pieces;
  std::vector<std::pair<std::string, std::string>> merges;
};

/// Trains BPE on `words`. Among equally frequent pairs, the pair with the smaller left id is merged
/// first, then the one with the smaller right id. Throws ArgumentError if an option is out of
/// range, and DataError if the distinct words have more than 2^32 characters in total.
LearnedBpe train_bpe(const WordTable& words, const BpeTrainerOptions& options);

}  // namespace weft

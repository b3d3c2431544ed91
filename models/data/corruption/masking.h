// Masks tokens for training masked language models, as in BERT (Devlin et al. 2019, section 3.1 and
// appendix A.1).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

struct MaskingOptions {
  /// Fraction of the non-special tokens that are selected for prediction.
  double rate = 0.15;
  /// Fraction of the selected tokens that are replaced by mask_id.
  double mask_share = 0.8;
  /// Fraction of the selected tokens that are replaced by a random non-special token. The remaining
  /// selected tokens stay unchanged.
  double random_share = 0.1;
  /// If true, all tokens of a word are selected together. Each token is still replaced
  /// independently.
  bool whole_words = false;
  std::int32_t mask_id = 0;
  /// One entry per id of the vocabulary; 1 for special ids. Special ids are never selected and
  /// never used as random tokens.
  std::vector<char> special = {};
  /// One entry per id of the vocabulary; 1 for ids that start a word. Needed if whole_words is set.
  std::vector<char> word_start = {};
};
/// Returns options with the mask_id, special ids and word starts of a tokenizer. Throws
/// ArgumentError if the tokenizer has no mask_id.
MaskingOptions masking_options(const Tokenizer& tokenizer, bool whole_words = false);

/// The input ids and labels for a model. A label is the original id at selected positions, and -100
/// elsewhere.
struct MaskedTokens {
  std::vector<std::int32_t> ids, labels;
};

/// Selects max(1, round(rate * n)) of the n non-special tokens at random. Selects no tokens if the
/// rate is 0. The result is a function of ids, options and (seed, step, row). With whole_words,
/// this number is an upper bound. Words are visited in random order and skipped if they would
/// exceed the bound, but at least one word is selected. Throws ArgumentError if fractions are out
/// of range or tables have different sizes. Throws DataError if an id is outside the tables.
MaskedTokens masked_tokens(std::span<const std::int32_t> ids, const MaskingOptions& options,
                           std::uint64_t seed, std::int64_t step, std::int64_t row);

}  // namespace weft

// Masked-language-model inputs as BERT makes them (Devlin et al. 2019, 3.1 and appendix A.1).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

struct MaskingOptions {
  double rate = 0.15;         // of the tokens that may be hidden are to be predicted
  double mask_share = 0.8;    // of those become mask_id,
  double random_share = 0.1;  // ... any token that is not special; the rest stays as it is
  bool whole_words = false;   // a word's tokens are hidden together (each replaced on its own)
  std::int32_t mask_id = 0;
  /// By id, the size of the vocabulary: never hidden, and never put in place of another.
  std::vector<char> special = {};
  /// By id; for whole_words.
  std::vector<char> word_start = {};
};
/// mask_id, special ids and beginnings of words of a tokenizer. Throws ArgumentError where it has
/// no mask_id.
MaskingOptions masking_options(const Tokenizer& tokenizer, bool whole_words = false);

/// What a model reads, and what it must say: labels are the ids that were there, -100 where nothing
/// is asked.
struct MaskedTokens {
  std::vector<std::int32_t> ids, labels;
};

/// Hides max(1, round(rate * n)) of the n tokens that are not special, at random: a function of
/// ids, options and (seed, step, row). With whole_words at most that many: words are taken in
/// random order, those left out that no longer fit, but at least one. Throws ArgumentError for
/// shares out of range and tables of another size; DataError for an id outside the tables.
MaskedTokens masked_tokens(std::span<const std::int32_t> ids, const MaskingOptions& options,
                           std::uint64_t seed, std::int64_t step, std::int64_t row);

}  // namespace weft

// Pairs of sentences for pre-training: does the second follow the first (BERT, Devlin et al. 2019),
// or in which order do they stand (ALBERT, Lan et al. 2020)?
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// Sentences of a document, as token ids, in order.
using Document = std::vector<std::vector<std::int32_t>>;

enum class PairTask : std::uint8_t {
  next_sentence,   // label 0: the second follows the first; 1: it is from another document
  sentence_order,  // label 0: as in the document; 1: swapped
};

struct SentencePair {
  std::vector<std::int32_t> first, second;
  std::int32_t label = 0;
};

/// A pair of neighbours, half of the time made wrong as the task says: a function of (seed, step,
/// row). Every place where one sentence follows another in its document is as likely. Throws
/// ArgumentError where no document has two sentences, or, for next_sentence, there is only one
/// document.
SentencePair sentence_pair(std::span<const Document> documents, PairTask task, std::uint64_t seed,
                           std::int64_t step, std::int64_t row);

/// "[CLS] first [SEP] second [SEP]" with token types 0 up to the first [SEP] and 1 behind it.
struct PairTokens {
  std::vector<std::int32_t> ids, token_types;
};
/// The longer of the two loses its last token until everything fits into `context` (ArgumentError
/// where that is less than 5).
PairTokens join_pair(const SentencePair& pair, std::int32_t cls_id, std::int32_t sep_id,
                     std::int64_t context);

}  // namespace weft

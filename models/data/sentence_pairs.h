// Pairs of segments for pre-training: does the second follow the first (BERT, Devlin et al. 2019,
// appendix A.2), or in which order do they stand (ALBERT, Lan et al. 2020, 3.1)?
#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

class Draws;

/// Sentences of a document, as token ids, in order.
using Document = std::vector<std::vector<std::int32_t>>;

enum class PairTask : std::uint8_t {
  next_sentence,   // label 0: the second follows the first; 1: it is from another document
  sentence_order,  // label 0: as in the document; 1: swapped
};

/// A segment is one or more whole sentences that follow each other.
struct SentencePair {
  std::vector<std::int32_t> first, second;
  std::int32_t label = 0;
};

/// Documents as a source of pairs. From a place where one sentence follows another on, sentences
/// are taken until they have `tokens` tokens (one time in ten: a random number of at least 2, as in
/// BERT, so that short inputs are known too) or the document ends; a random one of the places
/// between them parts the two segments. Half of the pairs are then made wrong, as the task says.
class SentencePairs {
 public:
  /// Sentences without tokens are left out. Throws ArgumentError where no document has two
  /// sentences, where, for next_sentence, there is only one document, and for tokens < 2.
  SentencePairs(std::vector<Document> documents, PairTask task, std::int64_t tokens);

  PairTask task() const { return task_; }
  std::int64_t documents() const { return static_cast<std::int64_t>(documents_.size()); }
  /// Places where one sentence follows another.
  std::int64_t places() const { return firsts_.back(); }
  /// Of all documents.
  std::int64_t tokens() const { return all_tokens_; }

  /// The pair that begins at `place`: a function of (place, seed, step, row).
  SentencePair at(std::int64_t place, std::uint64_t seed, std::int64_t step,
                  std::int64_t row) const;
  /// A pair that begins anywhere, every place being as likely: a function of (seed, step, row).
  SentencePair random(std::uint64_t seed, std::int64_t step, std::int64_t row) const;

 private:
  SentencePair make(std::int64_t place, Draws& draws) const;

  std::vector<Document> documents_;
  std::vector<std::int64_t> firsts_;  // place of each document's first sentence; the last: all
  PairTask task_;
  std::int64_t tokens_, all_tokens_ = 0;
};

/// "[CLS] first [SEP] second [SEP]" with token types 0 up to the first [SEP] and 1 behind it.
struct PairTokens {
  std::vector<std::int32_t> ids, token_types;
};
/// The longer of the two loses its last token until everything fits into `context` (ArgumentError
/// where that is less than 5).
PairTokens join_pair(const SentencePair& pair, std::int32_t cls_id, std::int32_t sep_id,
                     std::int64_t context);

}  // namespace weft

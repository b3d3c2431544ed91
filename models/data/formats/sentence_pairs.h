// Sentence pairs for pre-training. The model predicts whether the second segment follows the first
// (BERT, Devlin et al. 2019, appendix A.2), or whether the two segments were swapped (ALBERT, Lan
// et al. 2020, section 3.1).
#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

class Rng;

/// The sentences of a document as token ids, in order.
using Document = std::vector<std::vector<std::int32_t>>;

enum class PairTask : std::uint8_t {
  next_sentence,   // label 0: the second segment follows the first; 1: it is from another document
  sentence_order,  // label 0: segments in original order; 1: segments swapped
};

/// A pair of segments. A segment is one or more consecutive whole sentences.
struct SentencePair {
  std::vector<std::int32_t> first, second;
  std::int32_t label = 0;
};

/// Builds pairs from documents. Starting at a sentence that is not the last of its document,
/// consecutive sentences are collected until they have `tokens` tokens or the document ends. For
/// one pair in ten, the limit is a random number from 2 to `tokens`, as in BERT, so that training
/// also includes short inputs. A random sentence boundary divides the sentences into two segments.
/// Half of the pairs are then turned into negative examples according to the task.
class SentencePairs {
 public:
  /// Empty sentences are dropped. Throws ArgumentError if no document has two sentences, if there
  /// is only one document for next_sentence, or if tokens < 2.
  SentencePairs(std::vector<Document> documents, PairTask task, std::int64_t tokens);

  PairTask task() const { return task_; }
  std::int64_t documents() const { return static_cast<std::int64_t>(documents_.size()); }
  /// The number of positions at which a pair can begin. A pair can begin at every sentence that is
  /// not the last in its document.
  std::int64_t places() const { return firsts_.back(); }
  /// The total number of tokens in all documents.
  std::int64_t tokens() const { return all_tokens_; }

  /// Returns the pair that begins at position `place`. The result is a function of (place, seed,
  /// step, row).
  SentencePair at(std::int64_t place, std::uint64_t seed, std::int64_t step,
                  std::int64_t row) const;
  /// Returns the pair that begins at a uniformly random position. The result is a function of
  /// (seed, step, row).
  SentencePair random(std::uint64_t seed, std::int64_t step, std::int64_t row) const;

 private:
  SentencePair make(std::int64_t place, Rng& rng) const;

  std::vector<Document> documents_;
  std::vector<std::int64_t> firsts_;  // first position of each document, then the total number
  PairTask task_;
  std::int64_t tokens_, all_tokens_ = 0;
};

/// The tokens "[CLS] first [SEP] second [SEP]". The token type is 0 up to the first [SEP] and 1
/// after it.
struct PairTokens {
  std::vector<std::int32_t> ids, token_types;
};
/// Joins the segments of a pair. The longer segment is truncated at its end until the result fits
/// into `context`. Throws ArgumentError if `context` is below 5.
PairTokens join_pair(const SentencePair& pair, std::int32_t cls_id, std::int32_t sep_id,
                     std::int64_t context);

}  // namespace weft

// Batches and evaluations for pre-training runs.
#pragma once

#include <span>
#include <vector>

#include "weft/models/data/batching/packed_texts.h"
#include "weft/models/data/corruption/masking.h"
#include "weft/models/data/formats/sentence_pairs.h"
#include "weft/models/tasks/masked_tokens/pretraining.h"
#include "weft/models/text/tokens/packed_tokens.h"
#include "weft/models/training/trainer.h"

namespace WEFT_API weft {

/// Returns the model's masking options. Of the selected tokens, 80% become [MASK], 10% become a
/// random token and 10% are left unchanged, as in BERT. For rtd, all selected tokens become [MASK],
/// as in ELECTRA.
MaskingOptions pretraining_masking(const PretrainingModel& model);

/// A row of a batch before masking.
struct PretrainingRow {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> token_types = {};  // for pairs: one token type per id
  std::int32_t pair_label = 0;
};
/// Returns the inputs of both programs except "key". The masking of row r is a function of (seed,
/// step, first + r).
NamedTensors pretraining_inputs(const PretrainingModel& model, std::span<const PretrainingRow> rows,
                                std::uint64_t seed, std::int64_t step, std::int64_t first = 0);

/// Returns the training task for mlm and rtd. Training rows begin with random texts. Evaluation
/// rows cover `held_out` (may be null), and the same tokens are masked and replaced every time.
/// Evaluations report the training loss and "masked_accuracy", the accuracy on masked tokens (for
/// rtd, the generator's accuracy). For rtd, they also report "replaced_accuracy" and "replaced_auc"
/// over all tokens. All arguments must outlive the task. Throws ArgumentError if the model's
/// objective requires pairs.
TrainTask pretraining_task(Session& session, const PretrainingModel& model,
                           const PackedTexts& train, const PackedTexts* held_out);
/// As above, for token files.
TrainTask pretraining_task(Session& session, const PretrainingModel& model,
                           const PackedTokens& train, const PackedTokens* held_out);

/// Returns the training task for mlm+nsp and mlm+sop, which uses random pairs. Evaluation pairs
/// begin at evenly spaced positions in `held_out` (may be null); together they have about the same
/// number of tokens as `held_out`. Evaluations report the training loss, "masked_accuracy" and
/// "pair_accuracy". Throws ArgumentError if the model's objective requires other data.
TrainTask pretraining_task(Session& session, const PretrainingModel& model,
                           const SentencePairs& train, const SentencePairs* held_out);

/// Returns a source of sentence pairs that fill the model's context. Throws ArgumentError under the
/// same conditions as the SentencePairs constructor, and if the model's objective does not use
/// pairs.
SentencePairs sentence_pairs(const PretrainingModel& model,
                             std::span<const std::vector<std::string>> documents);

}  // namespace weft

// Batches and evaluations of pre-training runs.
#pragma once

#include <span>
#include <vector>

#include "weft/models/data/masking.h"
#include "weft/models/data/packed_texts.h"
#include "weft/models/data/sentence_pairs.h"
#include "weft/models/data/tokens/packed_tokens.h"
#include "weft/models/tasks/masked_tokens/pretraining.h"
#include "weft/models/train/trainer.h"

namespace WEFT_API weft {

/// Returns the masking options of the model. Of the selected tokens, 80% become [MASK], 10% become
/// a random token and 10% are left unchanged, as in BERT. For rtd, all of them become [MASK], as in
/// ELECTRA.
MaskingOptions pretraining_masking(const PretrainingModel& model);

/// A row of a batch before masking.
struct PretrainingRow {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> token_types = {};  // for pairs: one per id
  std::int32_t pair_label = 0;
};
/// Returns the inputs of both programs of a model, except for "key". The masking of row r is a
/// function of (seed, step, first + r).
NamedTensors pretraining_inputs(const PretrainingModel& model, std::span<const PretrainingRow> rows,
                                std::uint64_t seed, std::int64_t step, std::int64_t first = 0);

/// Returns the training task of mlm and rtd. Training rows begin with random texts. Evaluations use
/// rows that cover `held_out` (may be null), and mask and replace the same tokens every time. They
/// report the training loss and "masked_accuracy", the accuracy on the masked tokens (for rtd, that
/// of the generator). For rtd, they also report "replaced_accuracy" and "replaced_auc" over all
/// tokens. All arguments must outlive the task. Throws ArgumentError if the objective of the model
/// requires pairs.
TrainTask pretraining_task(Session& session, const PretrainingModel& model,
                           const PackedTexts& train, const PackedTexts* held_out);
/// As above, for token files.
TrainTask pretraining_task(Session& session, const PretrainingModel& model,
                           const PackedTokens& train, const PackedTokens* held_out);

/// Returns the training task of mlm+nsp and mlm+sop, which trains on random pairs. Evaluations use
/// pairs that begin at evenly spaced positions of `held_out` (may be null) and together have about
/// as many tokens as `held_out`. They report the training loss, "masked_accuracy" and
/// "pair_accuracy". Throws ArgumentError if the objective of the model requires other data.
TrainTask pretraining_task(Session& session, const PretrainingModel& model,
                           const SentencePairs& train, const SentencePairs* held_out);

/// Returns a source of sentence pairs that fill the context of the model. Throws ArgumentError
/// under the same conditions as SentencePairs, and if the objective of the model does not use
/// pairs.
SentencePairs sentence_pairs(const PretrainingModel& model,
                             std::span<const std::vector<std::string>> documents);

}  // namespace weft

// What a pre-training feeds and measures.
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

/// What is hidden: a tenth of it stays and a tenth becomes another token, as in BERT; rtd's
/// generator sees [MASK] only, as in ELECTRA.
MaskingOptions pretraining_masking(const PretrainingModel& model);

/// A row of a batch before masking.
struct PretrainingRow {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> token_types = {};  // of pairs, as many
  std::int32_t pair_label = 0;
};
/// Inputs of both programs of a model (but "key"): row r is masked as a function of (seed, step,
/// first + r).
NamedTensors pretraining_inputs(const PretrainingModel& model, std::span<const PretrainingRow> rows,
                                std::uint64_t seed, std::int64_t step, std::int64_t first = 0);

/// Training of mlm and rtd on rows that begin with random texts. Evaluation on all of `held_out`
/// (may be null), always hidden and replaced alike: the loss of training, "masked_accuracy" of the
/// hidden tokens (rtd: of the generator); rtd also "replaced_accuracy" and "replaced_auc" of all
/// tokens. Everything must outlive the task. Throws ArgumentError where the model learns from
/// pairs.
TrainTask pretraining_task(Session& session, const PretrainingModel& model,
                           const PackedTexts& train, const PackedTexts* held_out);
/// The same of token files.
TrainTask pretraining_task(Session& session, const PretrainingModel& model,
                           const PackedTokens& train, const PackedTokens* held_out);

/// Training of mlm+nsp and mlm+sop on random pairs. Evaluation on pairs that begin everywhere in
/// `held_out` (may be null), together about as long as that: the loss of training,
/// "masked_accuracy" and "pair_accuracy". Throws ArgumentError where the model does not learn from
/// such pairs.
TrainTask pretraining_task(Session& session, const PretrainingModel& model,
                           const SentencePairs& train, const SentencePairs* held_out);

/// Documents as pairs that fill the model's context. Throws ArgumentError as SentencePairs, and
/// where the model does not learn from pairs.
SentencePairs sentence_pairs(const PretrainingModel& model,
                             std::span<const std::vector<std::string>> documents);

}  // namespace weft

// The programs of encoders that are pre-trained.
#pragma once

#include "weft/models/families/encoder_config.h"
#include "weft/models/tasks/masked_tokens/pretraining_objective.h"
#include "weft/models/train/settings.h"
#include "weft/models/trained/model.h"

namespace WEFT_API weft {

/// Programs over inputs "tokens" i32 [batch, seq], "mask" i32 [batch, seq] (1 = token), "picks" i32
/// [picks]: places in the flattened [batch * seq] tokens that are asked for, and "labels" i32
/// [picks]: what was there, -100 where the pick does not count. Only picked places pay for the
/// product with the vocabulary. Pairs also need "token_types" i32 [batch, seq] and "pair_labels"
/// i32 [batch].
///   train     The loss is the sum of the objectives': of the hidden tokens, of the pairs,
///             replaced_weight times that of replaced tokens. Each is a mean over what counts in
///             the batch, in all shards of it (settings.shards).
///   evaluate  Without dropout: "loss", mean over the picks that count, and "predicted" i64
///             [picks]. Pairs: "pair_loss", mean, and "pair_predicted" i64 [batch]. rtd ("loss" is
///             the generator's; draws are a function of the input "key" i64 [2]): "corrupted" i32
///             [batch, seq], what the encoder saw, "replaced" i32 [batch, seq], its labels,
///             "scores" f32 [batch, seq], its logits, and "replaced_loss", mean over tokens.
///
/// Declares an encoder at the root of `graph`, named as in encoder.h, and its heads: "masked_lm";
/// pairs: "pooler" and "sentence_pair"; rtd: as make_replaced_token_model. "train" has the output
/// "loss" only. Throws ArgumentError for options out of range, and for pairs where the config has
/// fewer than two token types.
Programs build_pretraining(Graph& graph, const EncoderConfig& config,
                           const PretrainingOptions& options, const TrainSettings& settings,
                           SourceLocation loc = SourceLocation::current());

}  // namespace weft

// Programs for pre-training encoders.
#pragma once

#include "weft/models/families/encoder_config.h"
#include "weft/models/tasks/masked_tokens/pretraining_objective.h"
#include "weft/models/training/model.h"
#include "weft/models/training/settings.h"

namespace WEFT_API weft {

/// Builds the programs for an objective. Their inputs are
///   tokens  i32 [batch, seq]
///   mask    i32 [batch, seq]; 1 = token, 0 = padding
///   picks   i32 [picks]; positions to predict, as indices into the flattened tokens [batch * seq].
///           Logits over the vocabulary are computed for these positions only.
///   labels  i32 [picks]; the original ids, or -100 for picks that are ignored
/// and, for pairs, also
///   token_types  i32 [batch, seq]
///   pair_labels  i32 [batch]
///
/// The programs are
///   train     Output "loss": the sum of the objective's losses, which are the masked-token loss,
///             the pair loss, and replaced_weight times the replaced-token loss. Each is a mean
///             over its labels in the whole batch, including all shards (settings.shards).
///   evaluate  Without dropout. Outputs "loss", the mean over picks that are not ignored, and
///             "predicted" i64 [picks].
///             For pairs, also "pair_loss", a mean, and "pair_predicted" i64 [batch].
///             For rtd, "loss" is the generator loss; the input "key" i64 [2] determines the
///             generator's samples. Further outputs: "corrupted" i32 [batch, seq], the input of the
///             discriminator; "replaced" i32 [batch, seq], its labels; "scores" f32 [batch, seq],
///             its logits; and "replaced_loss", the mean over tokens.
///
/// Declares an encoder at the root of `graph`, named as in encoder.h, and its heads: "masked_lm";
/// for pairs, "pooler" and "sentence_pair"; for rtd, the heads declared by
/// make_replaced_token_model(). Throws ArgumentError if an option is out of range, or if the
/// objective uses pairs but the config has fewer than two token types.
Programs build_pretraining(Graph& graph, const EncoderConfig& config,
                           const PretrainingOptions& options, const TrainSettings& settings,
                           SourceLocation loc = SourceLocation::current());

}  // namespace weft

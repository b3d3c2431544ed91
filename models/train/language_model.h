// The programs of a language model over one graph: what a checkpoint holds.
#pragma once

#include "weft/graph/ir/program.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/train/fine_tune.h"
#include "weft/models/train/settings.h"

namespace weft {

/// Programs over inputs "tokens" and "targets", both i32 [batch, seq].
struct LanguageModelPrograms {
  /// One whole training step: forward, backward, clipping, schedule, AdamW.
  /// Outputs "loss" (f32), "learning_rate" and "gradient_norm" (f64 scalars).
  Program train{"train"};
  /// Forward without dropout. Output "loss": mean over all positions.
  Program evaluate{"evaluate"};
  /// Incremental decoding, as Gpt::decode_program says: what a Generator runs.
  Program decode{"decode"};
  /// Output "losses" [batch, seq]: what `evaluate` takes the mean of. Files of the first versions
  /// lack it: it has no outputs then.
  Program score{"score"};
};

/// Builds a GPT and its three programs. Values "hidden.<i>", "last_hidden_state" and "logits" are
/// those of `evaluate`. `options` say which parameters learn, and how fast: ArgumentError as
/// freeze() and layer_groups().
LanguageModelPrograms build_gpt_programs(Graph& graph, const GptConfig& config,
                                         const TrainSettings& settings,
                                         const FineTuneOptions& options = {},
                                         SourceLocation loc = SourceLocation::current());

}  // namespace weft

// A language model: the next token of a text, from those before it.
#pragma once

#include "weft/models/families/gpt_config.h"
#include "weft/models/tokenizers/character.h"
#include "weft/models/trained/trainable.h"

namespace weft {

/// Programs over inputs "tokens" and "targets", both i32 [batch, seq]:
///   train     one whole training step
///   evaluate  "loss": mean over all positions, without dropout
///   decode    incremental decoding, as Gpt::decode_program says: what a Generator runs
///   score     "losses" [batch, seq]: what `evaluate` takes the mean of. Files of the first
///   versions
///             lack it.
struct LanguageModel : ModelKind<LanguageModel> {
  GptConfig config;
  CharacterTokenizer tokenizer;

  static const ModelLayout& file_layout();
};

/// The programs of a language model in `graph`; "train" has the output "loss" only. Values
/// "hidden.<i>", "last_hidden_state" and "logits" are those of `evaluate`.
Programs build_gpt_programs(Graph& graph, const GptConfig& config, Precision precision,
                            SourceLocation loc = SourceLocation::current());

/// A new model that cannot be trained yet, its variables not made (a Session does that). Throws
/// ArgumentError where config and tokenizer differ in vocabulary.
LanguageModel build_language_model(const GptConfig& config, const CharacterTokenizer& tokenizer,
                                   const TrainSettings& settings);
/// The same, made trainable. Throws as make_trainable, too.
LanguageModel make_language_model(const GptConfig& config, const CharacterTokenizer& tokenizer,
                                  const TrainSettings& settings,
                                  const FineTuneOptions& options = {});

/// A new training that starts from the weights of `base`, with its config and tokenizer: of all of
/// them, or, given `lora`, of adapters beside them. Throws ArgumentError where `base` has adapters
/// (merge them first) or was quantised, and as add_lora and make_trainable.
LanguageModel start_from(const LanguageModel& base, const TrainSettings& settings,
                         const std::optional<LoraOptions>& lora = {},
                         const FineTuneOptions& options = {});

}  // namespace weft

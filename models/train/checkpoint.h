// A language model as one file: graph, programs, variables, and what only models know of.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weft/graph/run/session.h"
#include "weft/graph/weights/lora.h"
#include "weft/models/tokenizers/character.h"
#include "weft/models/train/language_model.h"

namespace weft {

/// What a language-model file holds. Loaded, it needs no model code: the programs come from the
/// file.
struct LanguageModel {
  std::shared_ptr<Graph> graph;
  LanguageModelPrograms programs;
  std::shared_ptr<VariableStore> store;
  GptConfig config;
  CharacterTokenizer tokenizer;
  TrainSettings settings;
  TrainHistory history;
  std::optional<LoraOptions> lora = {};  // where adapters are trained, not the model's own weights

  /// False for a model without the program "train": its weights were quantised.
  bool can_train() const { return programs.train.graph() != nullptr; }
};

/// A new model, its variables not made yet (a Session does that). Throws ArgumentError where config
/// and tokenizer differ in vocabulary, and as build_gpt_programs.
LanguageModel make_language_model(const GptConfig& config, const CharacterTokenizer& tokenizer,
                                  const TrainSettings& settings,
                                  const FineTuneOptions& options = {});

/// A new training that starts from the weights of `base`, with its config and tokenizer: of all of
/// them, or, given `lora`, of adapters beside them. Throws ArgumentError where `base` has adapters
/// (merge them first) or was quantised, and as add_lora, freeze() and layer_groups().
LanguageModel start_from(const LanguageModel& base, const TrainSettings& settings,
                         const std::optional<LoraOptions>& lora = {},
                         const FineTuneOptions& options = {});
/// The adapters of a model that has them.
LoraAdapters lora_adapters(const LanguageModel& model);

/// Writes `model` with its store's variables. The file is replaced as a whole or not at all. Throws
/// IoError; StateError where the variables are torn.
void save_language_model(const std::string& path, const LanguageModel& model);

/// Reads what save_language_model wrote. Throws IoError, FormatError; a .weft file without a
/// language model in it is a FormatError that says so.
LanguageModel load_language_model(const std::string& path);

}  // namespace weft

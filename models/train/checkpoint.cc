#include "weft/models/train/checkpoint.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/models/train/model_file.h"

namespace weft {
namespace {

constexpr const char* kConfigType = "weft.config.gpt";
constexpr const char* kTokenizer = "model.tokenizer";

}  // namespace

LanguageModel make_language_model(const GptConfig& config, const CharacterTokenizer& tokenizer,
                                  const TrainSettings& settings) {
  if (config.vocab != tokenizer.vocab_size()) {
    throw ArgumentError(fmt::format("the model has a vocabulary of {}, the tokenizer one of {}",
                                    config.vocab, tokenizer.vocab_size()));
  }
  auto graph = std::make_shared<Graph>();
  LanguageModelPrograms programs = build_gpt_programs(*graph, config, settings);
  return {std::move(graph),
          std::move(programs),
          std::make_shared<VariableStore>(),
          config,
          tokenizer,
          settings,
          {}};
}

void save_language_model(const std::string& path, const LanguageModel& model) {
  std::vector<Program> programs = {model.programs.evaluate, model.programs.decode};
  if (model.can_train()) programs.insert(programs.begin(), model.programs.train);
  save_checkpoint(
      path, *model.store, programs,
      {.attachments = {{kConfigAttachment, kConfigType, model.config.to_json()},
                       {kTokenizer, "weft.tokenizer.character", model.tokenizer.to_json()},
                       {kSettingsAttachment, "weft.train.settings", model.settings.to_json()},
                       {kHistoryAttachment, "weft.train.history", model.history.to_json()}}});
}

LanguageModel load_language_model(const std::string& path) {
  const ModelFile file(path, kConfigType, "language model");
  return {file.checkpoint().shared_graph(),
          {file.program_if_there("train"), file.program("evaluate"), file.program("decode")},
          file.checkpoint().store(),
          GptConfig::from_json(file.attachment(kConfigAttachment)),
          CharacterTokenizer::from_json(file.attachment(kTokenizer)),
          TrainSettings::from_json(file.attachment(kSettingsAttachment)),
          TrainHistory::from_json(file.attachment(kHistoryAttachment))};
}

}  // namespace weft

#include "weft/models/train/checkpoint.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/serialization/checkpoint.h"

namespace weft {
namespace {

constexpr const char* kConfig = "model.config";
constexpr const char* kTokenizer = "model.tokenizer";
constexpr const char* kSettings = "train.settings";
constexpr const char* kHistory = "train.history";

const std::string& attachment(const Checkpoint& checkpoint, const std::string& path,
                              const char* name) {
  const Attachment* found = checkpoint.find_attachment(name);
  if (found == nullptr) {
    throw FormatError(fmt::format(
        "{} holds no language model: it lacks the attachment '{}' (weft train writes it)", path,
        name));
  }
  return found->bytes;
}

const Program& program(const Checkpoint& checkpoint, const std::string& path, const char* name) {
  if (!checkpoint.has_program(name))
    throw FormatError(
        fmt::format("{} holds no language model: it lacks the program '{}'", path, name));
  return checkpoint.program(name);
}

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
      {.attachments = {{kConfig, "weft.config.gpt", model.config.to_json()},
                       {kTokenizer, "weft.tokenizer.character", model.tokenizer.to_json()},
                       {kSettings, "weft.train.settings", model.settings.to_json()},
                       {kHistory, "weft.train.history", model.history.to_json()}}});
}

LanguageModel load_language_model(const std::string& path) {
  const Checkpoint file = load_checkpoint(path);
  return {file.shared_graph(),
          {file.has_program("train") ? file.program("train") : Program("train"),
           program(file, path, "evaluate"), program(file, path, "decode")},
          file.store(),
          GptConfig::from_json(attachment(file, path, kConfig)),
          CharacterTokenizer::from_json(attachment(file, path, kTokenizer)),
          TrainSettings::from_json(attachment(file, path, kSettings)),
          TrainHistory::from_json(attachment(file, path, kHistory))};
}

}  // namespace weft

#include "weft/models/train/checkpoint.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/models/json_fields.h"
#include "weft/models/train/lora_file.h"
#include "weft/models/train/model_file.h"
#include "weft/models/train/training_step.h"

namespace weft {
namespace {

constexpr const char* kConfigType = "weft.config.gpt";
constexpr const char* kTokenizer = "model.tokenizer";
constexpr const char* kLora = "train.lora";

const auto kLoraFields = [](auto& o, auto&& visit) {
  visit("rank", o.rank);
  visit("alpha", o.alpha);
  visit("dropout", o.dropout);
};

std::optional<LoraOptions> read_lora(const Checkpoint& file) {
  const Attachment* found = file.find_attachment(kLora);
  if (found == nullptr) return {};
  LoraOptions options;
  json_fields::read_object(json_fields::parse_object(found->bytes, "the adapters' options"),
                           options, kLoraFields, "the adapters' options");
  return options;
}

}  // namespace

LanguageModel make_language_model(const GptConfig& config, const CharacterTokenizer& tokenizer,
                                  const TrainSettings& settings, const FineTuneOptions& options) {
  if (config.vocab != tokenizer.vocab_size()) {
    throw ArgumentError(fmt::format("the model has a vocabulary of {}, the tokenizer one of {}",
                                    config.vocab, tokenizer.vocab_size()));
  }
  auto graph = std::make_shared<Graph>();
  LanguageModelPrograms programs = build_gpt_programs(*graph, config, settings, options);
  return {std::move(graph),
          std::move(programs),
          std::make_shared<VariableStore>(),
          config,
          tokenizer,
          settings,
          {},
          {}};
}

LanguageModel start_from(const LanguageModel& base, const TrainSettings& settings,
                         const std::optional<LoraOptions>& lora, const FineTuneOptions& options) {
  if (base.lora) throw ArgumentError("the model has adapters: merge them into its weights first");
  if (!base.can_train())
    throw ArgumentError("the model's weights were quantised: start from the file it was made from");
  // Of adapters, not of what they stand beside, the options speak where there are any.
  LanguageModel model = make_language_model(base.config, base.tokenizer, settings,
                                            lora ? FineTuneOptions{} : options);
  if (!lora) {
    for (const Variable& variable : model.graph->variables()) {
      const VariableInfo& info = variable.info();
      if (info.kind == VariableKind::parameter || info.kind == VariableKind::buffer)
        model.store->insert(info.name, info.kind, base.store->tensor(info.name));
    }
    return model;
  }
  Program loss("train");
  loss.precision(settings.precision);
  for (const auto& [name, value] : model.programs.train.outputs()) {
    if (name == "loss") loss.output(name, value);
  }
  AdaptedModel adapted =
      add_lora({loss, model.programs.evaluate, model.programs.decode, model.programs.score},
               *base.store, *lora);
  model.programs = {Program("train"), adapted.programs[1], adapted.programs[2],
                    adapted.programs[3]};
  freeze(*adapted.graph, options.freeze);
  add_training_step(model.programs.train, adapted.programs[0].outputs().front().second,
                    layer_groups(*adapted.graph, options.layer_lr_decay), settings);
  model.graph = adapted.graph;
  model.store = adapted.store;
  model.lora = lora;
  return model;
}

LoraAdapters lora_adapters(const LanguageModel& model) {
  if (!model.lora) throw ArgumentError("the model has no adapters");
  constexpr std::string_view kEnd = ".lora_a";
  std::vector<std::string> matrices;
  for (const Variable& parameter : model.graph->parameters()) {
    const std::string& name = parameter.name();
    if (name.ends_with(kEnd)) matrices.push_back(name.substr(0, name.size() - kEnd.size()));
  }
  LoraAdapters adapters = lora_adapters(matrices, *model.store, *model.lora);
  adapters.base = adapters_base(adapters, *model.store);
  return adapters;
}

void save_language_model(const std::string& path, const LanguageModel& model) {
  std::vector<Program> programs = {model.programs.evaluate, model.programs.decode};
  if (model.programs.score.graph() != nullptr) programs.push_back(model.programs.score);
  if (model.can_train()) programs.insert(programs.begin(), model.programs.train);
  std::vector<Attachment> attachments = {
      {kConfigAttachment, kConfigType, model.config.to_json()},
      {kTokenizer, "weft.tokenizer.character", model.tokenizer.to_json()},
      {kSettingsAttachment, "weft.train.settings", model.settings.to_json()},
      {kHistoryAttachment, "weft.train.history", model.history.to_json()}};
  if (model.lora) {
    attachments.push_back(
        {kLora, "weft.train.lora", json_fields::write_object(*model.lora, kLoraFields).dump()});
  }
  save_checkpoint(path, *model.store, programs, {std::move(attachments)});
}

LanguageModel load_language_model(const std::string& path) {
  const ModelFile file(path, kConfigType, "language model");
  return {file.checkpoint().shared_graph(),
          {file.program_if_there("train"), file.program("evaluate"), file.program("decode"),
           file.program_if_there("score")},
          file.checkpoint().store(),
          GptConfig::from_json(file.attachment(kConfigAttachment)),
          CharacterTokenizer::from_json(file.attachment(kTokenizer)),
          TrainSettings::from_json(file.attachment(kSettingsAttachment)),
          TrainHistory::from_json(file.attachment(kHistoryAttachment)),
          read_lora(file.checkpoint())};
}

}  // namespace weft

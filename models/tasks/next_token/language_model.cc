#include "weft/models/tasks/next_token/language_model.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions/loss.h"
#include "weft/models/families/gpt.h"
#include "weft/models/trained/adapters.h"

namespace weft {

const ModelLayout& LanguageModel::file_layout() {
  static const ModelLayout layout =
      ModelLayout{.kind = "language model",
                  .config_type = "weft.config.gpt",
                  .programs = {"evaluate", "decode", "score"},
                  .added_programs = {"score"}}
          .part(kConfigPart, "weft.config.gpt", &LanguageModel::config)
          .part(kTokenizerPart, "weft.tokenizer.character", &LanguageModel::tokenizer);
  return layout;
}

Programs build_gpt_programs(Graph& graph, const GptConfig& config, Precision precision,
                            SourceLocation loc) {
  const Value tokens = graph.input("tokens", DType::i32, {"batch", "seq"}, loc);
  const Value targets = graph.input("targets", DType::i32, {"batch", "seq"}, loc);
  const Gpt model(Scope(graph), config, GptHead::language_model, loc);

  const GptOutputs outputs = model({.ids = tokens}, false, loc);
  name_outputs(outputs);
  Program evaluate("evaluate"), score("score"), train("train");
  evaluate.precision(precision).output(
      "loss", cross_entropy(outputs.logits, targets, {.class_axis = -1}), loc);
  score.precision(precision).output(
      "losses",
      cross_entropy(outputs.logits, targets, {.class_axis = -1, .reduction = Reduction::none}),
      loc);
  train.precision(precision).output(
      "loss", cross_entropy(model({.ids = tokens}, true, loc).logits, targets, {.class_axis = -1}),
      loc);
  return {{"train", train},
          {"evaluate", evaluate},
          {"decode", model.decode_program(tokens, loc).precision(precision)},
          {"score", score}};
}

LanguageModel build_language_model(const GptConfig& config, const CharacterTokenizer& tokenizer,
                                   const TrainSettings& settings) {
  settings.check();
  if (config.vocab != tokenizer.vocab_size()) {
    throw ArgumentError(fmt::format("the model has a vocabulary of {}, the tokenizer one of {}",
                                    config.vocab, tokenizer.vocab_size()));
  }
  LanguageModel model;
  model.task = "next-token";
  model.settings = settings;
  model.config = config;
  model.tokenizer = tokenizer;
  model.programs = build_gpt_programs(*model.graph, config, settings.precision);
  return model;
}

LanguageModel make_language_model(const GptConfig& config, const CharacterTokenizer& tokenizer,
                                  const TrainSettings& settings, const FineTuneOptions& options) {
  LanguageModel model = build_language_model(config, tokenizer, settings);
  make_trainable(model, options);
  return model;
}

LanguageModel start_from(const LanguageModel& base, const TrainSettings& settings,
                         const std::optional<LoraOptions>& lora, const FineTuneOptions& options) {
  if (base.lora) throw ArgumentError("the model has adapters: merge them into its weights first");
  if (!base.can_train())
    throw ArgumentError("the model's weights were quantised: start from the file it was made from");
  LanguageModel model = build_language_model(base.config, base.tokenizer, settings);
  for (const Variable& variable : model.graph->variables()) {
    const VariableInfo& info = variable.info();
    if (info.kind == VariableKind::parameter || info.kind == VariableKind::buffer)
      model.store->insert(info.name, info.kind, base.store->tensor(info.name));
  }
  if (lora) add_adapters(model, *lora);
  make_trainable(model, options);
  return model;
}

}  // namespace weft

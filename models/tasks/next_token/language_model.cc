#include "weft/models/tasks/next_token/language_model.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions/loss.h"
#include "weft/models/families/gpt.h"

namespace weft {

const ModelLayout& LanguageModel::file_layout() {
  static const ModelLayout layout = ModelLayout{.kind = "language model",
                                                .programs = {"evaluate", "decode", "score"},
                                                .added_programs = {"score"}}
                                        .config(&LanguageModel::config)
                                        .tokenizer(&LanguageModel::tokenizer);
  return layout;
}

void LanguageModel::check() const {
  const std::int64_t known = tokenizer.vocab_size();
  if (tokenizer.reads_characters() ? config.vocab != known : config.vocab < known) {
    throw ArgumentError(fmt::format("the model has a vocabulary of {}, the tokenizer one of {}",
                                    config.vocab, known));
  }
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

LanguageModel build_language_model(const GptConfig& config, const Tokenizer& tokenizer,
                                   const TrainSettings& settings) {
  settings.check();
  LanguageModel model;
  model.task = "next-token";
  model.settings = settings;
  model.config = config;
  model.tokenizer = tokenizer;
  model.check();
  model.programs = build_gpt_programs(*model.graph, config, settings.precision);
  return model;
}

TokenIds ids_without_text(const LanguageModel& model) {
  const Tokenizer& tokenizer = model.tokenizer;
  TokenIds ids;
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (tokenizer.is_special(id) && id != tokenizer.bos_id() && id != tokenizer.eos_id())
      ids.push_back(id);
  }
  for (std::int64_t id = tokenizer.vocab_size(); id < model.config.vocab; ++id) ids.push_back(id);
  return ids;
}

}  // namespace weft

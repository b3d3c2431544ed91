#include "weft/models/train/language_model.h"

#include "weft/autodiff/optimizer.h"
#include "weft/graph/functions/loss.h"
#include "weft/models/families/gpt.h"

namespace weft {

LanguageModelPrograms build_gpt_programs(Graph& graph, const GptConfig& config,
                                         const TrainSettings& settings, SourceLocation loc) {
  settings.check();
  const Value tokens = graph.input("tokens", DType::i32, {"batch", "seq"}, loc);
  const Value targets = graph.input("targets", DType::i32, {"batch", "seq"}, loc);
  const Value position = graph.input("position", DType::i64, {}, loc);
  const Gpt model(Scope(graph), config, loc);

  LanguageModelPrograms programs;
  for (Program* program : {&programs.train, &programs.evaluate, &programs.decode}) {
    program->precision(settings.precision);
  }
  const GptOutputs outputs = model({.ids = tokens}, false, loc);
  name_outputs(outputs);
  const Value validation = cross_entropy(outputs.logits, targets, {.class_axis = -1});
  programs.evaluate.output("loss", validation, loc);

  const Value loss =
      cross_entropy(model({.ids = tokens}, true, loc).logits, targets, {.class_axis = -1});
  // The first step already moves: warm-up counts from 1.
  const Schedule lr =
      warmup_cosine(settings.lr, static_cast<double>(settings.warmup),
                    static_cast<double>(settings.steps), {.final = settings.min_lr, .shift = 1});
  const TrainingStep step = adamw(loss, graph.parameters(),
                                  {.lr = lr,
                                   .beta1 = settings.beta1,
                                   .beta2 = settings.beta2,
                                   .weight_decay = settings.weight_decay,
                                   .step = {.clip_norm = settings.clip}},
                                  loc);
  programs.train.output("loss", loss, loc)
      .output("learning_rate", step.learning_rate, loc)
      .output("gradient_norm", step.gradient_norm, loc)
      .update(step.updates, loc);

  const GptDecoding decoding = model.decode(tokens, position, graph.dim("capacity"), loc);
  programs.decode.output("logits", decoding.logits, loc).update(decoding.updates, loc);
  return programs;
}

}  // namespace weft

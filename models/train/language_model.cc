#include "weft/models/train/language_model.h"

#include "weft/graph/functions/loss.h"
#include "weft/models/families/gpt.h"
#include "weft/models/train/training_step.h"

namespace weft {

LanguageModelPrograms build_gpt_programs(Graph& graph, const GptConfig& config,
                                         const TrainSettings& settings,
                                         const FineTuneOptions& options, SourceLocation loc) {
  settings.check();
  const Value tokens = graph.input("tokens", DType::i32, {"batch", "seq"}, loc);
  const Value targets = graph.input("targets", DType::i32, {"batch", "seq"}, loc);
  const Gpt model(Scope(graph), config, GptHead::language_model, loc);

  LanguageModelPrograms programs;
  programs.evaluate.precision(settings.precision);
  const GptOutputs outputs = model({.ids = tokens}, false, loc);
  name_outputs(outputs);
  const Value validation = cross_entropy(outputs.logits, targets, {.class_axis = -1});
  programs.evaluate.output("loss", validation, loc);
  programs.score.precision(settings.precision)
      .output(
          "losses",
          cross_entropy(outputs.logits, targets, {.class_axis = -1, .reduction = Reduction::none}),
          loc);

  const Value loss =
      cross_entropy(model({.ids = tokens}, true, loc).logits, targets, {.class_axis = -1});
  freeze(graph, options.freeze);
  add_training_step(programs.train, loss, layer_groups(graph, options.layer_lr_decay), settings,
                    loc);

  programs.decode = model.decode_program(tokens, loc).precision(settings.precision);
  return programs;
}

}  // namespace weft

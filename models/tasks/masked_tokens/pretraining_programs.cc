#include "weft/models/tasks/masked_tokens/pretraining_programs.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/tasks/masked_tokens/replaced_tokens.h"

namespace weft {
namespace {

/// Name of the random key for sampling the generator's tokens in training.
constexpr const char* kSamplingKey = "sampling";

struct Inputs {
  EncoderInputs encoder;
  MaskedTargets hidden;
};

Inputs declare_inputs(Graph& graph) {
  return {add_text_inputs(graph),
          {.picks = graph.input("picks", DType::i32, {"picks"}),
           .labels = graph.input("labels", DType::i32, {"picks"})}};
}

/// Builds the programs for masked tokens and, if the objective uses them, for pairs.
Programs build_masked(Graph& graph, const EncoderConfig& config, PretrainingObjective objective,
                      Reduction reduction) {
  Inputs inputs = declare_inputs(graph);
  const bool pairs = reads_pairs(objective);
  Value pair_labels;
  if (pairs) {
    inputs.encoder.token_type_ids = graph.input("token_types", DType::i32, {"batch", "seq"});
    pair_labels = graph.input("pair_labels", DType::i32, {"batch"});
  }
  const Encoder encoder(Scope(graph), config);
  const MaskedLmHead head =
      make_masked_lm_head(Scope(graph, "masked_lm"), encoder, masked_lm_options(config));
  std::optional<Pooler> pooler;
  std::optional<Linear> pair_head;
  if (pairs) {
    pooler = make_pooler(Scope(graph, "pooler"), config, Activation::tanh);
    pair_head = make_head(Scope(graph, "sentence_pair"), config, 2);
  }
  struct Logits {
    Value tokens, pair;
  };
  const auto logits = [&](const Encoder& net) {
    const Value h = net(inputs.encoder).last_hidden_state;
    return Logits{head(take(flatten(h, 0, 1), inputs.hidden.picks)),
                  pairs ? (*pair_head)((*pooler)(h, inputs.encoder.attention_mask)) : Value()};
  };
  Program evaluate("evaluate"), train("train");
  const Logits evaluated = logits(encoder.evaluation());
  evaluate.output("loss", label_loss(evaluated.tokens, inputs.hidden.labels))
      .output("predicted", argmax(evaluated.tokens, -1));
  if (pairs) {
    evaluate.output("pair_loss", label_loss(evaluated.pair, pair_labels))
        .output("pair_predicted", argmax(evaluated.pair, -1));
  }
  const Logits trained = logits(encoder.training());
  Value loss = label_loss(trained.tokens, inputs.hidden.labels, reduction);
  if (pairs) loss = loss + label_loss(trained.pair, pair_labels, reduction);
  train.output("loss", loss);
  return {{"train", train}, {"evaluate", evaluate}};
}

Programs build_replaced(Graph& graph, const EncoderConfig& config,
                        const PretrainingOptions& options, Reduction reduction) {
  const Inputs inputs = declare_inputs(graph);
  const Value& labels = inputs.hidden.labels;
  const ReplacedTokenModel model =
      make_replaced_token_model(Scope(graph), config, options.generator_share);
  const auto found = [&](Value key, Mode mode) {
    return detect_replaced_tokens(model, inputs.encoder, inputs.hidden, key, mode);
  };
  const auto replaced_loss = [&](const ReplacedTokens& tokens, Reduction over) {
    return replaced_token_loss(tokens.logits, tokens.replaced, inputs.encoder.attention_mask, over);
  };
  Program evaluate("evaluate"), train("train");
  // Evaluation uses a separate key, so that it does not change the random numbers used in training.
  const ReplacedTokens evaluated = found(graph.input("key", DType::i64, {2}), Mode::evaluation);
  evaluate.output("loss", label_loss(evaluated.generator_logits, labels))
      .output("predicted", argmax(evaluated.generator_logits, -1))
      .output("corrupted", evaluated.ids)
      .output("replaced", evaluated.replaced)
      .output("scores", evaluated.logits)
      .output("replaced_loss", replaced_loss(evaluated, Reduction::mean));
  const ReplacedTokens trained = found(graph.key(kSamplingKey), Mode::training);
  train.output("loss", label_loss(trained.generator_logits, labels, reduction) +
                           options.replaced_weight * replaced_loss(trained, reduction));
  return {{"train", train}, {"evaluate", evaluate}};
}

}  // namespace

Programs build_pretraining(Graph& graph, const EncoderConfig& config,
                           const PretrainingOptions& options, const TrainSettings& settings,
                           SourceLocation loc) {
  options.check();
  if (reads_pairs(options.objective) && config.token_types < 2) {
    throw ArgumentError(
        fmt::format("{} distinguishes two segments by their token types: token_types must be at "
                    "least 2, not {}",
                    choice_name(options.objective), config.token_types));
  }
  Graph::Frame frame(graph, "pretraining", loc);
  Programs programs =
      options.objective == PretrainingObjective::rtd
          ? build_replaced(graph, config, options, settings.loss_reduction())
          : build_masked(graph, config, options.objective, settings.loss_reduction());
  for (auto& [name, program] : programs) program.precision(settings.precision);
  return programs;
}

}  // namespace weft

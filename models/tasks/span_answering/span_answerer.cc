#include "weft/models/tasks/span_answering/span_answerer.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/families/encoder_heads.h"
#include "weft/models/fields/check.h"
#include "weft/models/inputs/folder_encoder.h"
#include "weft/models/tasks/span_answering/span_windows.h"

namespace weft {
namespace {

/// The logit of impossible positions, far below all other logits.
constexpr double kImpossibleLogit = -1e9;

}  // namespace

const FieldList<SpanReading>& SpanReading::fields() {
  static const auto list =
      FieldList<SpanReading>("the window options of question answering")
          .add("window", &SpanReading::window,
               "maximum number of tokens in a window, including the question (at most the context "
               "of "
               "the model)")
          .add("stride", &SpanReading::stride,
               "number of tokens by which adjacent windows of a long text overlap")
          .add("answer_tokens", &SpanReading::answer_tokens,
               "maximum number of tokens in an answer");
  return list;
}

void SpanReading::check() const {
  check::at_least("window", window, 8);
  check::at_least("stride", stride, 0);
  check::at_least("answer_tokens", answer_tokens, 1);
}

const ModelLayout& SpanAnswerer::file_layout() {
  static const ModelLayout layout =
      ModelLayout{.kind = "question answering model",
                  .uses = {Use::answer, Use::embed},
                  .programs = {"answer"},
                  .plan_cache = 64}
          .config(&SpanAnswerer::config)
          .tokenizer(&SpanAnswerer::tokenizer)
          .part(kReadingPart, "weft.reading", &SpanAnswerer::reading)
          .added_part("model.spans", "weft.spans", &SpanAnswerer::spans);
  return layout;
}

void SpanAnswerer::check() const {
  EncoderModel::check();
  spans.check();
}

SpanAnswerer build_span_answerer(const EncoderConfig& config, const Tokenizer& tokenizer,
                                 const SpanReading& spans, const TrainSettings& settings) {
  SpanAnswerer model;
  model.task = "span-answering";
  model.settings = settings;
  model.config = config;
  if (config.global_attention) model.config.separator_id = tokenizer.sep_id();
  model.tokenizer = tokenizer;
  model.reading = TextReading{.token_types = config.token_types >= 2};
  model.spans = spans;
  model.check();
  Graph& graph = *model.graph;
  EncoderInputs inputs = add_text_inputs(graph, model.reading->token_types);
  inputs.global_attention_mask = question_attention(model.config, inputs.ids);
  const Value start = graph.input("start_positions", DType::i32, {"batch"});
  const Value end = graph.input("end_positions", DType::i32, {"batch"});
  const Encoder encoder(Scope(graph), config);
  const TokenScores span = make_token_scores(Scope(graph), "span", config, 2);
  const auto logits = [&](const Encoder& net) {
    return split_span(span(net(inputs).last_hidden_state));
  };
  // An answer cannot start or end at padding, so exclude padding from the softmax in the loss.
  const auto in_row = [&](const Value& scores) {
    return where(inputs.attention_mask < 1, kImpossibleLogit, scores);
  };
  const SpanLogits found = logits(encoder.evaluation()), learned = logits(encoder.training());
  model.add_program("answer")
      .precision(settings.precision)
      .output("start", found.start)
      .output("end", found.end);
  model.add_program("train").output("loss", span_loss({in_row(learned.start), in_row(learned.end)},
                                                      start, end, settings.loss_reduction()));
  return model;
}

std::unique_ptr<SpanAnswerer> span_answerer_of(const hf::Folder& folder,
                                               const FolderTokenizer& text) {
  auto model = std::make_unique<SpanAnswerer>();
  auto found = read_folder_encoder(*model->graph, folder, text,
                                   {.endings = {"ForQuestionAnswering"}, .pairs = true});
  if (!found) return nullptr;
  model->task = "span-answering";
  model->add_program("answer")
      .precision(model->settings.precision)
      .output("start", found->output("start_logits"))
      .output("end", found->output("end_logits"));
  found->into(*model);
  return model;
}

FolderModel SpanAnswerer::to_folder() const {
  return encoder_folder(*this, {"ForQuestionAnswering"});
}

std::vector<std::vector<Answer>> answer(Session& session, const TrainedModel& any,
                                        const std::vector<Question>& questions,
                                        const AnswerOptions& options) {
  const auto& model = any.as<SpanAnswerer>(Use::answer);
  const SpanReading how{.window = options.window.value_or(model.spans.window),
                        .stride = options.stride.value_or(model.spans.stride),
                        .answer_tokens = options.most_tokens.value_or(model.spans.answer_tokens)};
  if (options.most < 1 || how.answer_tokens < 1 || how.stride < 0)
    throw ArgumentError(
        fmt::format("invalid answer options: most={}, answer_tokens={}, stride={}: the first two "
                    "must be at least 1, stride at least 0",
                    options.most, how.answer_tokens, how.stride));
  const TextReader reader = model.reader();
  std::vector<SpanWindow> windows;
  for (std::size_t q = 0; q < questions.size(); ++q) {
    try {
      std::vector<SpanWindow> more =
          with_number(q, [&] { return span_windows(reader, q, questions[q], how); });
      std::move(more.begin(), more.end(), std::back_inserter(windows));
    } catch (const ArgumentError& e) {
      throw TextError(q, e.what());
    }
  }
  return answer_windows(session, model, questions, windows, how, options);
}

}  // namespace weft

// Builds the classes of the GPT family: base model, language model and sequence classifier.
#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/hf/gpt.h"
#include "weft/models/hf/sequence_labels.h"

namespace weft::hf {
namespace {

/// Selects the scores of the last non-padding token of each row from scores [batch, seq, classes]
/// and returns them as [batch, classes]. If a row consists of padding only, its first token is
/// used. If `padding_id` is -1, the last position is used.
Value last_token_scores(Value scores, Value ids, std::int64_t padding_id) {
  if (padding_id < 0) return select(scores, 1, scores.size(1) - 1);
  Graph& graph = scores.graph();
  const Value place = iota(graph, {ids.size(1)}, 0, DType::i64);
  const Value last = argmax(where(not_equal(ids, padding_id), place, zeros(graph, DType::i64, {})),
                            1, true);  // [batch, 1]
  const Value index = broadcast_to(unsqueeze(last, 2), {scores.size(0), Dim(1), scores.size(2)});
  return select(take_along_axis(scores, index, 1), 1, Dim(0));
}

void classify(Request& request, Model& model, const GptConfig& config, Value ids, Value h,
              std::int64_t padding_id, std::string_view batch) {
  const std::int64_t classes = request.config.labels();
  const Linear score =
      make_linear(Scope(request.graph) / "score", DType::f32, config.width, classes,
                  {.bias = false, .initializer = Initializer::normal(config.initializer_range)});
  const Value logits = last_token_scores(score(h), ids, padding_id);
  model.outputs["logits"] = logits;
  if (const Value loss = sequence_label_loss(request, logits, classes, batch); loss.defined())
    model.outputs["loss"] = loss;
}

}  // namespace

Model build_gpt(Request& request) {
  auto [gpt, model] =
      build_gpt_model(request.graph, request.config.object().dump(), request.architecture);
  // build_gpt_model() has already read the whole config and rejected unknown keys, so mark all keys
  // as read.
  for (const auto& [key, value] : request.config.object().items()) request.config.find(key.c_str());
  const bool classifies = request.architecture.ends_with("ForSequenceClassification");
  const std::string& type = model.model_type;
  if (request.architecture != gpt_class(type, GptClass::language_model) &&
      request.architecture != gpt_class(type, GptClass::base) &&
      request.architecture != gpt_class(type, GptClass::sequence_classification)) {
    request.unsupported_architecture();
  }
  std::int64_t padding_id = -1;
  request.config.optional_id("pad_token_id", padding_id);
  // If there is no padding id, the end of a row is known only if the batch has a single row.
  const std::string_view batch = classifies && padding_id < 0 ? "" : "batch";
  GptInputs inputs{.ids = request.required("input_ids", {batch, "seq"})};
  if (batch.empty() && inputs.ids.size(0) != Dim(1)) {
    throw ArgumentError(fmt::format(
        "{} cannot classify {} rows at once: config.json has no pad_token_id, so the ends of the "
        "rows are unknown",
        request.architecture, inputs.ids.size(0).str()));
  }
  inputs.attention_mask = request.input("attention_mask", {batch, "seq"});
  if (type != "gpt_neox") inputs.position_ids = request.input("position_ids", {batch, "seq"});
  if (type == "gpt2" || type == "openai-gpt")
    inputs.token_type_ids = request.input("token_type_ids", {batch, "seq"});
  const GptOutputs out = gpt(inputs);
  model.outputs = {{"last_hidden_state", out.last_hidden_state}};
  put_hidden(model, "hidden.", out.hidden);
  model.valid_rows = inputs.attention_mask;
  if (classifies) {
    classify(request, model, gpt.config(), inputs.ids, out.last_hidden_state, padding_id, batch);
  } else if (out.logits.defined()) {
    model.outputs["logits"] = out.logits;
    if (const Value labels = request.input("labels", {"batch", "seq"}); labels.defined())
      model.outputs["loss"] = next_token_loss(out.logits, labels);
  }
  return std::move(model);
}

}  // namespace weft::hf

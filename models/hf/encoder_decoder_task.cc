#include "weft/models/hf/encoder_decoder_task.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/fields/check.h"
#include "weft/models/hf/sequence_labels.h"

namespace weft::hf {
namespace {

/// Returns the decoder input: decoder_input_ids if present, else the labels or the input ids,
/// shifted to the right.
Value decoder_ids(Request& request, const EncoderDecoder& net, const EncoderDecoderStyle& style,
                  Value ids, Value labels) {
  const Value given = request.input("decoder_input_ids", {"batch", "target"});
  if (given.defined()) return given;
  if (labels.defined()) return net.shift_right(labels);
  if (style.decodes_inputs) return net.shift_right(ids);
  throw ArgumentError(
      fmt::format("{} requires the input decoder_input_ids or labels", request.architecture));
}

Model build_encoder_class(Request& request, const EncoderDecoderConfig& config, Model model) {
  const EncoderDecoder net(Scope(request.graph), config, Stacks::encoder);
  const Value ids = request.required("input_ids", {"batch", "seq"});
  const StackOutputs out = net.encode(ids, request.input("attention_mask", {"batch", "seq"}));
  model.outputs["last_hidden_state"] = out.last_hidden_state;
  put_hidden(model, "hidden.", out.hidden);
  return model;
}

/// Classification heads on the decoder's last hidden state.
class Classifier {
 public:
  Classifier(Request& request, const EncoderDecoderConfig& config, Model& model)
      : request_(request), config_(config), model_(model) {}

  /// Classifies each row by the hidden state of its last end-of-text token, with a head that has
  /// one hidden layer. The Hugging Face class requires the same number of end-of-text tokens in
  /// every row. For inputs that it accepts, the result is the same.
  void sequence(Value h, Value ids, std::int64_t labels) {
    std::int64_t end_id = 2;
    request_.config.field("eos_token_id", end_id);
    const Value ends = equal(ids, end_id);
    const Value place = iota(request_.graph, {ids.size(1)}, 0, DType::i64);
    // If a row has no end-of-text token, the index is out of range, and the run throws DataError.
    const Value last = where(any(ends, {1}, true), max(where(ends, place, 0), {1}, true),
                             dim_value(request_.graph, ids.size(1), DType::i64));
    const Value index = broadcast_to(unsqueeze(last, 2), {h.size(0), Dim(1), h.size(2)});
    const Value x = select(take_along_axis(h, index, 1), 1, Dim(0));
    const Scope scope = Scope(request_.graph) / "classification_head";
    const Value logits =
        linear(scope / "out_proj", labels)(tanh(linear(scope / "dense", config_.width)(x)));
    model_.outputs["logits"] = logits;
    if (const Value loss = sequence_label_loss(request_, logits, labels); loss.defined())
      model_.outputs["loss"] = loss;
  }

  void span(Value h) {
    const SpanLogits logits = split_span(linear(Scope(request_.graph) / "qa_outputs", 2)(h));
    model_.outputs["start_logits"] = logits.start;
    model_.outputs["end_logits"] = logits.end;
    const Value start = request_.input("start_positions", {"batch"});
    const Value end = request_.input("end_positions", {"batch"});
    if (start.defined() != end.defined()) {
      throw ArgumentError(
          fmt::format("{} requires both start_positions and end_positions to compute a loss",
                      request_.architecture));
    }
    if (start.defined()) model_.outputs["loss"] = span_loss(logits, start, end);
  }

 private:
  Linear linear(const Scope& scope, std::int64_t outputs) const {
    return make_linear(scope, DType::f32, config_.width, outputs,
                       {.initializer = Initializer::normal(config_.initializer_range)});
  }

  Request& request_;
  const EncoderDecoderConfig& config_;
  Model& model_;
};

}  // namespace

void add_stack(ModuleNames& names, const std::string& stack, std::int64_t layers,
               const std::string& prefix, const ModuleNames& parts) {
  check::at_most({{stack + " layers", layers, size_limits::kLayers}});
  for (std::int64_t i = 0; i < layers; ++i) {
    for (const auto& [ours, theirs] : parts)
      names.emplace_back(fmt::format("{}.layers.{}.{}", stack, i, ours),
                         fmt::format("{}.{}.{}", prefix, i, theirs));
  }
}

Model build_encoder_decoder(Request& request, const EncoderDecoderConfig& config,
                            const EncoderDecoderStyle& style) {
  const bool labels_stated = request.config.find("id2label") != nullptr ||
                             request.config.find("num_labels") != nullptr ||
                             request.config.find("_num_labels") != nullptr;
  const std::int64_t stated_labels = request.config.labels();
  const std::string task = request.task();
  const bool with_head = task == style.lm_class;
  const bool sequence = task == "ForSequenceClassification" && style.has_classifiers;
  const bool span = task == "ForQuestionAnswering" && style.has_classifiers;
  Model model;
  for (const auto& [ours, theirs] : style.modules)
    model.names.add(ours, (with_head || sequence || span ? style.base : "") + theirs);
  model.unused_buffers = style.unused_buffers;
  if (task == "EncoderModel" && style.has_encoder_class)
    return build_encoder_class(request, config, std::move(model));
  if (!with_head && !sequence && !span && task != "Model") request.unsupported_architecture();
  if (with_head) {
    model.names.add("head.weight", "lm_head.weight");
    model.names.add("head.bias", "final_logits_bias");
  }

  EncoderDecoderConfig built = config;
  if (!with_head) {
    built.tied_head = true;
    built.head_bias = false;
  }
  const auto shared = std::make_shared<const EncoderDecoder>(Scope(request.graph), built);
  const EncoderDecoder& net = *shared;
  if (with_head) model.encoder_decoder = shared;
  if (with_head || sequence) model.family = built;
  const Value ids = request.required("input_ids", {"batch", "seq"});
  const Value mask = request.input("attention_mask", {"batch", "seq"});
  const Value labels = with_head ? request.input("labels", {"batch", "target"}) : Value();
  const Value target = decoder_ids(request, net, style, ids, labels);
  const StackOutputs encoded = net.encode(ids, mask);
  const StackOutputs decoded =
      net.decode(target, request.input("decoder_attention_mask", {"batch", "target"}),
                 encoded.last_hidden_state, mask);
  model.outputs["encoder_last_hidden_state"] = encoded.last_hidden_state;
  model.outputs["last_hidden_state"] = decoded.last_hidden_state;
  put_hidden(model, "encoder_hidden.", encoded.hidden);
  put_hidden(model, "decoder_hidden.", decoded.hidden);
  Classifier classifier(request, config, model);
  const Value h = decoded.last_hidden_state;
  if (sequence) classifier.sequence(h, ids, labels_stated ? stated_labels : style.default_labels);
  if (span) classifier.span(h);
  if (!with_head) return model;
  const Value logits = net.logits(h);
  model.outputs["logits"] = logits;
  if (labels.defined()) model.outputs["loss"] = net.loss(logits, labels);
  return model;
}

}  // namespace weft::hf

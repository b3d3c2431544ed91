#include "weft/models/hf/encoder_decoders/encoder_decoder_task.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
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
  model.unused_buffers.insert("decoder.*");
  const EncoderDecoder net(Scope(request.graph).evaluation(), config, Stacks::encoder);
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
    put_span(request_, model_, linear(Scope(request_.graph) / "qa_outputs", 2)(h));
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

Model build(const EncoderDecoderType& type, Request& request) {
  const EncoderDecoderStyle& style = type.style;
  EncoderDecoderConfig config = type.defaults;
  type.keys.read(request.config, config);
  const std::string task = request.task();
  if (task == "EncoderModel" && style.has_encoder_class) {
    request.config.ignore({"is_encoder_decoder"});
  } else {
    request.config.fixed("is_encoder_decoder", true,
                         "a decoder without its encoder is not supported");
  }
  config.check();
  request.config.ignore_labels();  // all classes accept these keys
  const bool with_head = task == style.lm_class;
  const bool sequence = task == "ForSequenceClassification" && style.has_classifiers;
  const bool span = task == "ForQuestionAnswering" && style.has_classifiers;
  Model model;
  type.add_names(model.names, config, with_head || sequence || span ? style.base : "");
  // T5's classes have no prefix, but the library removes this one from the names in files.
  model.base_prefix = style.base.empty() ? "transformer." : style.base;
  model.unused_buffers = style.unused_buffers;
  // Tensors of other classes.
  model.unused_buffers.insert(
      {"lm_head.*", "final_logits_bias", "classification_head.*", "qa_outputs.*"});
  if (task == "EncoderModel" && style.has_encoder_class)
    return build_encoder_class(request, config, std::move(model));
  if (!with_head && !sequence && !span && task != "Model") request.unsupported_architecture();
  if (with_head) {
    model.names.add("head.weight", "lm_head.weight");
    model.names.add("head.bias", "final_logits_bias");
  }

  if (!with_head) {
    config.tied_head = true;
    config.head_bias = false;
  }
  const auto shared =
      std::make_shared<const EncoderDecoder>(Scope(request.graph).evaluation(), config);
  const EncoderDecoder& net = *shared;
  if (with_head) model.encoder_decoder = shared;
  if (with_head || sequence) model.family = config;
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
  if (sequence) classifier.sequence(h, ids, request.config.labels(style.default_labels));
  if (span) classifier.span(h);
  if (!with_head) return model;
  const Value logits = net.logits(h);
  model.outputs["logits"] = logits;
  if (labels.defined()) model.outputs["loss"] = net.loss(logits, labels);
  return model;
}

}  // namespace

ModelTypes encoder_decoder_model_types(const std::vector<EncoderDecoderType>& types) {
  ModelTypes result;
  for (const EncoderDecoderType& type : types) {
    const auto write = [type](ConfigWriter& config, const FamilyConfig& family, const HeadFacts&) {
      auto c = std::get<EncoderDecoderConfig>(family);
      c.head_size = c.head_width(c.encoder_heads);
      config.field("is_encoder_decoder", true);
      type.keys.write(config, c);
    };
    result.push_back(
        {type.name, type.prefix, [type](Request& request) { return build(type, request); }, write});
  }
  return result;
}

}  // namespace weft::hf

#include "weft/models/hf/encoder_decoders/encoder_decoder_task.h"

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
Value decoder_ids(Request& request, const EncoderDecoder& net, bool decodes_inputs, Value ids,
                  Value labels) {
  const Value given = request.input("decoder_input_ids", {"batch", "target"});
  if (given.defined()) return given;
  if (labels.defined()) return net.shift_right(labels);
  if (decodes_inputs) return net.shift_right(ids);
  throw ArgumentError(
      fmt::format("{} requires the input decoder_input_ids or labels", request.architecture));
}

/// Adds the scores of the routers of a stack.
void put_routers(Model& model, const std::string& stack, const StackOutputs& outputs) {
  for (const RoutedLayer& layer : outputs.routed)
    model.outputs[fmt::format("{}_router_logits.{}", stack, layer.layer)] = layer.logits;
}

/// Adds the router losses of a stack to the outputs and to the loss, which may be undefined. As in
/// transformers, models with experts in every layer have no such losses.
void put_router_losses(Model& model, const std::string& stack, const StackOutputs& outputs,
                       std::int64_t step, const EncoderDecoderConfig& config, Value& loss) {
  if (outputs.routed.empty() || step == 1) return;
  const RouterLosses losses = router_losses(outputs);
  model.outputs[stack + "_aux_loss"] = losses.balancing;
  model.outputs[stack + "_z_loss"] = losses.z;
  if (!loss.defined()) return;
  loss = loss + losses.balancing * config.balancing_weight + losses.z * config.router_z_weight;
}

/// Returns the given mask, or that of the ids other than padding for model types that mask padding
/// by default.
Value mask_of(const EncoderDecoderStyle& style, const EncoderDecoderConfig& config, Value ids,
              Value mask) {
  if (mask.defined() || !style.masks_padding_ids || config.padding_id < 0) return mask;
  return cast(not_equal(ids, config.padding_id), DType::i32);
}

/// Returns the encoder's input: ids, or a spectrogram.
Value source_input(Request& request, const EncoderDecoderConfig& config) {
  return config.reads_speech() ? request.required("input_features", {"batch", "", ""})
                               : request.required("input_ids", {"batch", "seq"});
}

/// Returns the mask of the encoder's input. Spectrograms have a fixed length: their mask, which
/// some programs pass along, has no effect.
Value source_mask(Request& request, const EncoderDecoderConfig& config) {
  const Value mask = request.input("attention_mask", {"batch", "seq"});
  return config.reads_speech() ? Value() : mask;
}

/// Classifies audio: averages the encoder's hidden states over time, after a projection. The hidden
/// states are the last ones or a weighted sum over the embeddings and all layers.
Model build_audio_classifier(Request& request, const EncoderDecoderConfig& config, Model model) {
  std::int64_t projection = 256;
  bool weighted = false;
  request.config.field("classifier_proj_size", projection)
      .field("use_weighted_layer_sum", weighted);
  check::at_least("classifier_proj_size", projection, 1);
  check::at_most({{"classifier_proj_size", projection, size_limits::kWidth}});
  model.unused_buffers.insert({"decoder.*", "proj_out.*"});
  Graph& graph = request.graph;
  const Scope scope(graph);
  const EncoderDecoder net(scope.evaluation(), config, Stacks::encoder);
  const Value features = source_input(request, config);
  static_cast<void>(source_mask(request, config));
  const StackOutputs out = net.encode(features, {});
  Value h = out.last_hidden_state;
  if (weighted) {
    const auto count = std::ssize(out.hidden);
    const Variable weights =
        scope.variable("layer_weights", DType::f32, {count},
                       {.initializer = Initializer::constant(1 / static_cast<double>(count))});
    const Value shares = softmax(weights, 0);
    h = Value();
    for (std::int64_t i = 0; i < count; ++i) {
      const Value part = out.hidden[static_cast<std::size_t>(i)] * select(shares, 0, Dim(i));
      h = h.defined() ? h + part : part;
    }
  }
  const LinearOptions options{.initializer = Initializer::normal(config.initializer_range)};
  const std::int64_t labels = request.config.labels();
  const Value pooled =
      mean(make_linear(scope / "projector", DType::f32, config.width, projection, options)(h), {1});
  const Value logits =
      make_linear(scope / "classifier", DType::f32, projection, labels, options)(pooled);
  put_hidden(model, "hidden.", out.hidden);
  model.outputs["logits"] = logits;
  const Value given = request.input("labels", {"batch"});
  if (given.defined()) model.outputs["loss"] = cross_entropy(logits, given);
  return model;
}

/// Adds the outputs of a class that consists of the encoder, except those of its head. Returns its
/// last hidden state.
Value add_encoder(Request& request, const EncoderDecoderStyle& style,
                  const EncoderDecoderConfig& config, Value ids, Model& model) {
  model.unused_buffers.insert("decoder.*");
  const EncoderDecoder net(Scope(request.graph).evaluation(), config, Stacks::encoder);
  const Value mask = request.input("attention_mask", {"batch", "seq"});
  const StackOutputs out = net.encode(ids, mask_of(style, config, ids, mask));
  if (config.encoder_window > 0) model.valid_rows = mask;
  model.outputs["last_hidden_state"] = out.last_hidden_state;
  put_hidden(model, "hidden.", out.hidden);
  put_routers(model, "encoder", out);
  return out.last_hidden_state;
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

  /// Scores all hidden states h [batch, seq, width] of `tokens` [batch, seq] with one layer. A
  /// sequence is classified by the hidden state of its last token other than padding, or by the one
  /// after it if `shifted`: the decoder reads tokens shifted to the right.
  void scores(Value h, Value ids, std::int64_t labels, bool each_token, bool shifted) {
    const Value all = linear(Scope(request_.graph) / "scores", labels, h.size(2).constant())(h);
    if (each_token) {
      model_.outputs["logits"] = all;
      if (const Value given = request_.input("labels", {"batch", "seq"}); given.defined())
        model_.outputs["loss"] = label_loss(all, given);
      return;
    }
    Graph& graph = request_.graph;
    const Value end = dim_value(graph, h.size(1), DType::i64) - 1;
    Value last = broadcast_to(end, {ids.size(0)});
    if (config_.padding_id >= 0) {
      const Value place = iota(graph, {ids.size(1)}, 0, DType::i64);
      last = max(where(not_equal(ids, config_.padding_id), place, 0), {1});
      if (shifted) last = minimum(last + 1, end);
    }
    const Value index =
        broadcast_to(reshape(last, {ids.size(0), 1, 1}), {ids.size(0), Dim(1), Dim(labels)});
    const Value logits = select(take_along_axis(all, index, 1), 1, Dim(0));
    model_.outputs["logits"] = logits;
    if (const Value loss = sequence_label_loss(request_, logits, labels); loss.defined())
      model_.outputs["loss"] = loss;
  }

 private:
  Linear linear(const Scope& scope, std::int64_t outputs, std::int64_t width = 0) const {
    return make_linear(scope, DType::f32, width == 0 ? config_.width : width, outputs,
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
  const bool each_token = task == "ForTokenClassification";
  const bool scores = !style.scores.empty() && (each_token || task == "ForSequenceClassification");
  const bool audio = task == "ForAudioClassification" && style.has_audio_classifier;
  bool with_decoder = true;
  if ((task == "EncoderModel" && style.has_encoder_class) || audio) {
    request.config.ignore({"is_encoder_decoder"});
  } else if (scores) {
    request.config.field("is_encoder_decoder", with_decoder);
  } else {
    request.config.fixed("is_encoder_decoder", true,
                         "a decoder without its encoder is not supported");
  }
  config.check();
  if (!audio) request.config.ignore_labels();  // all classes accept these keys
  const bool with_head = task == style.lm_class;
  const bool sequence = task == "ForSequenceClassification" && style.has_classifiers;
  const bool span = task == "ForQuestionAnswering" && style.has_classifiers;
  Model model;
  type.add_names(model.names, config, with_head || sequence || span || scores ? style.base : "");
  if (type.add_layouts != nullptr) type.add_layouts(model.layouts, config);
  // T5's classes have no prefix, but the library removes this one from the names in files.
  model.base_prefix = style.base.empty() ? "transformer." : style.base;
  model.unused_buffers = style.unused_buffers;
  // Tensors of other classes.
  model.unused_buffers.insert(
      {"lm_head.*", "final_logits_bias", "classification_head.*", "qa_outputs.*", "score.*"});
  if (scores) model.names.add("scores", style.scores);
  if (audio) return build_audio_classifier(request, config, std::move(model));
  const Value ids = source_input(request, config);
  Classifier classifier(request, config, model);
  if (task == "EncoderModel" && style.has_encoder_class) {
    add_encoder(request, style, config, ids, model);
    return model;
  }
  if (!with_decoder) {
    const Value h = add_encoder(request, style, config, ids, model);
    classifier.scores(h, ids, request.config.labels(style.default_labels), each_token, false);
    return model;
  }
  if (!with_head && !sequence && !span && !scores && task != "Model")
    request.unsupported_architecture();
  if (with_head) {
    model.names.add("head.weight", style.head + ".weight");
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
  if (with_head || sequence || scores) model.family = config;
  const Value mask = source_mask(request, config);
  const Value labels = with_head ? request.input("labels", {"batch", "target"}) : Value();
  const Value target = decoder_ids(request, net, style.decodes_inputs || scores, ids, labels);
  const StackOutputs encoded = net.encode(ids, mask_of(style, config, ids, mask));
  Value target_mask = request.input("decoder_attention_mask", {"batch", "target"});
  // Classes without caches mask padding in the decoder, too.
  if (scores) target_mask = mask_of(style, config, target, target_mask);
  const StackOutputs decoded = net.decode(target, target_mask, encoded.last_hidden_state, mask);
  if (config.encoder_window > 0) model.valid_rows = mask;
  model.outputs["encoder_last_hidden_state"] = encoded.last_hidden_state;
  model.outputs["last_hidden_state"] = decoded.last_hidden_state;
  put_hidden(model, "encoder_hidden.", encoded.hidden);
  put_hidden(model, "decoder_hidden.", decoded.hidden);
  put_routers(model, "encoder", encoded);
  put_routers(model, "decoder", decoded);
  const Value h = decoded.last_hidden_state;
  if (sequence) classifier.sequence(h, ids, request.config.labels(style.default_labels));
  if (span) classifier.span(h);
  if (scores)
    classifier.scores(h, ids, request.config.labels(style.default_labels), each_token, true);
  if (!with_head) return model;
  const Value logits = net.logits(h);
  model.outputs["logits"] = logits;
  Value loss;
  if (labels.defined()) loss = net.loss(logits, labels);
  put_router_losses(model, "encoder", encoded, config.encoder_sparse_step, config, loss);
  put_router_losses(model, "decoder", decoded, config.decoder_sparse_step, config, loss);
  if (loss.defined()) model.outputs["loss"] = loss;
  return model;
}

}  // namespace

ModelTypes encoder_decoder_model_types(const std::vector<EncoderDecoderType>& types) {
  ModelTypes result;
  for (const EncoderDecoderType& type : types) {
    const auto write = [type](ConfigWriter& config, const FamilyConfig& family, const HeadFacts&) {
      auto c = std::get<EncoderDecoderConfig>(family);
      c.decoder_head_size = c.decoder().head_size;
      c.head_size = c.encoder().head_size;
      config.field("is_encoder_decoder", true);
      type.keys.write(config, c);
    };
    result.push_back(
        {type.name, type.prefix, [type](Request& request) { return build(type, request); }, write});
  }
  return result;
}

}  // namespace weft::hf

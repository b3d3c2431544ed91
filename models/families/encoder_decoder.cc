#include "weft/models/families/encoder_decoder.h"

#include <cmath>
#include <limits>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/layers/attention/heads.h"
#include "weft/models/layers/attention/positions.h"
#include "weft/models/layers/dropout.h"
#include "weft/models/layers/incremental_state.h"

namespace weft {
namespace {

EncoderDecoderConfig checked(EncoderDecoderConfig config) {
  config.check();
  return config;
}

double root(std::int64_t n) { return std::sqrt(static_cast<double>(n)); }

}  // namespace

EncoderDecoder::EncoderDecoder(const Scope& scope, const EncoderDecoderConfig& config,
                               Stacks stacks, SourceLocation loc)
    : scope_(scope), config_(checked(config)) {
  Graph::Frame frame(scope.graph(), "encoder_decoder", loc, scope.path());
  const EncoderDecoderConfig& c = config_;
  const Embedding tokens = make_tokens(c.shared_tokens() ? scope : scope / "encoder", c.vocab);
  encoder_ = make_stack(scope / "encoder", tokens, false);
  if (c.shared_tokens()) scope.alias("encoder.tokens.weight", tokens.weight);
  if (stacks == Stacks::encoder) return;
  if (c.shared_tokens()) scope.alias("decoder.tokens.weight", tokens.weight);
  decoder_ = make_stack(
      scope / "decoder",
      c.shared_tokens() ? tokens : make_tokens(scope / "decoder", c.decoder_vocab), true);
  const Scope head = scope / "head";
  if (c.tied_head) {
    head.alias("weight", decoder_->tokens.weight);
  } else {
    const double range =
        c.initializer_range > 0 ? c.initializer_range : c.initializer_factor / root(c.width);
    head_ = head.variable("weight", DType::f32, {c.target_vocab(), c.width},
                          {.initializer = Initializer::normal(range)});
  }
  if (c.head_bias)
    head_bias_ =
        head.variable("bias", DType::f32, {1, c.target_vocab()}, {.kind = VariableKind::buffer});
}

Embedding EncoderDecoder::make_tokens(const Scope& scope, std::int64_t vocab) const {
  const double range =
      config_.initializer_range > 0 ? config_.initializer_range : config_.initializer_factor;
  return make_embedding(
      scope / "tokens",
      {.vocab = vocab,
       .width = config_.width,
       .initializer = Initializer::normal(range),
       .padding_id = config_.frozen_padding ? std::optional(config_.padding_id) : std::nullopt});
}

LinearOptions EncoderDecoder::linear(std::int64_t inputs) const {
  const double range = config_.initializer_range > 0 ? config_.initializer_range
                                                     : config_.initializer_factor / root(inputs);
  return {.bias = config_.bias, .initializer = Initializer::normal(range)};
}

Norm EncoderDecoder::make_norm_at(const Scope& scope) const {
  return make_norm(scope, DType::f32, config_.width,
                   {.eps = config_.layer_norm_eps, .rms = config_.rms_norm});
}

EncoderDecoder::Layer EncoderDecoder::make_layer(const Scope& scope, bool decoder) const {
  const EncoderDecoderConfig& c = config_;
  const std::int64_t heads = decoder ? c.decoder_heads : c.encoder_heads;
  const std::int64_t size = c.head_width(heads);
  MultiHeadAttentionOptions attention{.heads = heads,
                                      .head_size = size,
                                      .scale = c.scale_scores ? 0.0 : 1.0,
                                      .in = linear(c.width),
                                      .out = linear(heads * size)};
  // If scores are not divided by sqrt(head size), the initial query weights are divided by it
  // instead.
  if (c.initializer_range == 0 && !c.scale_scores)
    attention.query_initializer = linear(c.width * size).initializer;
  const std::int64_t inner = decoder ? c.decoder_inner : c.encoder_inner;
  const auto make_attention = [&](const Scope& at) {
    return make_multi_head_attention(at, DType::f32, c.width, attention);
  };
  Layer layer{make_attention(scope / "attention"),
              make_norm_at(scope / "attention_norm"),
              {},
              {},
              make_feed_forward(scope / "feed_forward", DType::f32, c.width,
                                {.inner = inner,
                                 .activation = c.activation,
                                 .up = linear(c.width),
                                 .down = linear(inner),
                                 .up_name = "up",
                                 .down_name = "down",
                                 .gated = c.gated}),
              make_norm_at(scope / "feed_forward_norm")};
  if (decoder) {
    layer.cross_attention = make_attention(scope / "cross_attention");
    layer.cross_attention_norm = make_norm_at(scope / "cross_attention_norm");
  }
  return layer;
}

EncoderDecoder::Stack EncoderDecoder::make_stack(const Scope& scope, const Embedding& tokens,
                                                 bool decoder) const {
  const EncoderDecoderConfig& c = config_;
  Stack stack{scope, tokens, {}, {},
              {},    {},     {}, decoder ? c.decoder_layer_dropout : c.encoder_layer_dropout};
  if (c.positions == Seq2SeqPositions::learned) {
    const double range = c.initializer_range > 0 ? c.initializer_range : c.initializer_factor;
    stack.positions = (scope / "positions")
                          .variable("weight", DType::f32, {c.position_offset + c.context, c.width},
                                    {.initializer = Initializer::normal(range)});
  }
  if (c.positions == Seq2SeqPositions::relative_bias) {
    stack.relative_bias = make_relative_bias(scope / "relative_bias", DType::f32,
                                             {.heads = decoder ? c.decoder_heads : c.encoder_heads,
                                              .buckets = c.relative_buckets,
                                              .max_distance = c.relative_max_distance,
                                              .bidirectional = !decoder,
                                              .initializer = *linear(c.width).initializer});
  }
  if (c.embedding_norm) stack.embedding_norm = make_norm_at(scope / "embedding_norm");
  const std::int64_t layers = decoder ? c.decoder_layers : c.encoder_layers;
  for (std::int64_t i = 0; i < layers; ++i)
    stack.layers.push_back(make_layer(scope / "layers" / i, decoder));
  if (c.norm == Seq2SeqNorm::pre_norm) stack.norm = make_norm_at(scope / "norm");
  return stack;
}

EncoderDecoder EncoderDecoder::in(Mode mode) const {
  EncoderDecoder result = *this;
  result.scope_ = scope_.in(mode);
  return result;
}

AttentionOptions EncoderDecoder::attention_options() const {
  AttentionOptions options;
  if (drops_out(scope_, config_.attention_dropout)) {
    options.dropout = config_.attention_dropout;
    options.key = scope_.graph().key("dropout");
  }
  return options;
}

Value EncoderDecoder::embed(const Stack& stack, Value ids, Value position) const {
  Graph& graph = scope_.graph();
  Value h = stack.tokens(ids);
  if (config_.scale_embedding) h = h * root(config_.width);
  if (config_.positions != Seq2SeqPositions::relative_bias) {
    const Value at = position.defined() ? consecutive_positions(position, ids.size(1))
                                        : iota(graph, {ids.size(1)}, 0, DType::i64);
    h = h + (config_.positions == Seq2SeqPositions::learned
                 ? embedding(at + config_.position_offset, stack.positions)
                 : sinusoidal_positions(at, config_.width, h.dtype()));
  }
  if (stack.embedding_norm) h = (*stack.embedding_norm)(h);
  return dropout(scope_, h, config_.dropout);
}

template <class Block>
Value EncoderDecoder::residual(const Norm& norm, Value h, Block&& block) const {
  if (config_.norm == Seq2SeqNorm::pre_norm)
    return h + dropout(scope_, block(norm(h)), config_.dropout);
  return norm(h + dropout(scope_, block(h), config_.dropout));
}

Value EncoderDecoder::feed_forward(const Layer& layer, Value h) const {
  return residual(layer.feed_forward_norm, h, [&](Value x) {
    const FeedForward& block = layer.feed_forward;
    return block.down(dropout(scope_, block.hidden(x), config_.activation_dropout));
  });
}

StackOutputs EncoderDecoder::run(const Stack& stack, Value embedded, const AttentionOptions& self,
                                 Value memory, const AttentionOptions& cross) const {
  StackOutputs outputs;
  Value h = embedded;
  for (const Layer& layer : stack.layers) {
    outputs.hidden.push_back(h);
    const Value before = h;
    h = residual(layer.attention_norm, h, [&](Value x) { return layer.attention(x, x, self); });
    if (layer.cross_attention) {
      h = residual(*layer.cross_attention_norm, h,
                   [&](Value x) { return (*layer.cross_attention)(x, memory, cross); });
    }
    h = feed_forward(layer, h);
    if (drops_out(scope_, stack.layer_dropout)) {
      const Value skip = bernoulli(scope_.graph().key("dropout"), Shape{}, stack.layer_dropout);
      h = where(skip, before, h);
    }
  }
  if (stack.norm) h = (*stack.norm)(h);
  h = dropout(scope_, h, config_.final_dropout);
  outputs.hidden.push_back(h);
  outputs.last_hidden_state = h;
  return outputs;
}

StackOutputs EncoderDecoder::encode(Value ids, Value mask, SourceLocation loc) const {
  Graph::Frame frame(scope_.graph(), "encode", loc, scope_.path());
  const Value h = embed(*encoder_, ids, {});
  AttentionOptions self = attention_options();
  if (mask.defined()) self.bias = additive_padding_mask(mask, h.dtype());
  if (encoder_->relative_bias)
    self.offset_bias = (*encoder_->relative_bias)(ids.size(1), ids.size(1));
  return run(*encoder_, h, self, {}, {});
}

Value EncoderDecoder::decoder_mask(Value mask, DType dtype) const {
  const double lowest = dtype == DType::f64 ? std::numeric_limits<double>::lowest()
                                            : std::numeric_limits<float>::lowest();
  const Dim& length = mask.size(1);
  const Value later =
      reshape(position_differences(scope_.graph(), length) < 0, {1, 1, length, length});
  const Value padding = additive_padding_mask(mask, dtype);
  // Models differ in how they treat rows without a visible key (left padding): T5 attends uniformly
  // to all keys, whereas BART adds both masks, so that the scores of keys excluded by both are
  // -inf.
  if (config_.positions == Seq2SeqPositions::relative_bias) return where(later, lowest, padding);
  return where(later, lowest, 0 * padding) + padding;
}

StackOutputs EncoderDecoder::decode(Value ids, Value mask, Value memory, Value memory_mask,
                                    SourceLocation loc) const {
  Graph& graph = scope_.graph();
  Graph::Frame frame(graph, "decode", loc, scope_.path());
  if (!decoder_)
    graph.fail(ArgumentError("the model has no decoder: build it with Stacks::both"), "decode",
               {ids}, loc);
  const Value h = embed(*decoder_, ids, {});
  AttentionOptions self = attention_options(), cross = self;
  if (mask.defined()) {
    self.bias = decoder_mask(mask, h.dtype());
  } else {
    self.causal = true;
  }
  if (decoder_->relative_bias)
    self.offset_bias = (*decoder_->relative_bias)(ids.size(1), ids.size(1));
  if (memory_mask.defined()) cross.bias = additive_padding_mask(memory_mask, h.dtype());
  return run(*decoder_, h, self, memory, cross);
}

Value EncoderDecoder::logits(Value h, SourceLocation loc) const {
  Graph::Frame frame(scope_.graph(), "logits", loc, scope_.path());
  if (config_.tied_head && config_.scale_tied_head) h = h * (1 / root(config_.width));
  const Variable weight = config_.tied_head ? decoder_->tokens.weight : head_;
  Value y = matmul(h, weight, {.transpose_b = true});
  if (head_bias_.defined()) y = y + reshape(head_bias_, {config_.target_vocab()});
  return y;
}

Value EncoderDecoder::shift_right(Value labels, SourceLocation loc) const {
  Graph& graph = scope_.graph();
  Graph::Frame frame(graph, "shift_right", loc, scope_.path());
  const EncoderDecoderConfig& c = config_;
  const auto reject = [&](const char* what) {
    graph.fail(ArgumentError(what), "shift_right", {labels}, loc);
  };
  if (c.padding_id < 0)
    reject("the decoder's input can be derived from labels only if the config has a padding_id");
  const Value ids = where(equal(labels, -100), c.padding_id, labels);
  Value first;
  if (c.decoder_start == DecoderStart::last_label) {
    const Value tokens = sum(cast(not_equal(ids, c.padding_id), labels.dtype()), 1);
    first = take_along_axis(ids, unsqueeze(tokens - 1, 1), 1);
  } else {
    if (c.start_id < 0)
      reject("the decoder's input can be derived from labels only if the config has a start_id");
    first = full(graph, labels.dtype(), Shape{labels.size(0), 1}, static_cast<double>(c.start_id));
  }
  return concat({first, slice(ids, {Slice{}, Slice{.end = labels.size(1) - 1}})}, 1);
}

Value EncoderDecoder::loss(Value logits, Value labels, Reduction reduction,
                           SourceLocation loc) const {
  Graph::Frame frame(scope_.graph(), "loss", loc, scope_.path());
  const double smoothing = config_.label_smoothing;
  const bool smoothed = smoothing > 0 && scope_.is_training("label smoothing", loc);
  return cross_entropy(logits, labels,
                       {.label_smoothing = smoothed ? smoothing : 0, .reduction = reduction});
}

EncoderDecoderDecoding EncoderDecoder::decoding(const DecodingInputs& inputs,
                                                SourceLocation loc) const {
  if (scope_.mode() != Mode::evaluation) return evaluation().decoding(inputs, loc);
  require_first_incremental(scope_ / "cache", "decoding", loc);
  Graph& graph = scope_.graph();
  Graph::Frame frame(graph, "decoding", loc, scope_.path());
  const EncoderDecoderConfig& c = config_;
  const Dim rows = inputs.tokens.size(0), source = inputs.ids.size(1);
  const std::int64_t heads = c.decoder_heads, size = c.head_width(heads);
  const Scope caches = scope_ / "cache";
  EncoderDecoderDecoding result;

  const Value memory = encode(inputs.ids, inputs.attention_mask).last_hidden_state;
  Variable mask;
  if (inputs.attention_mask.defined()) {
    mask = caches.variable("mask", ValueType{memory.dtype(), Shape{rows, 1, 1, source}},
                           {.kind = VariableKind::cache});
    const Value bias = additive_padding_mask(inputs.attention_mask, memory.dtype());
    result.prompt.add(mask, take(bias, inputs.prompt_of_row));
  }

  Value h = embed(*decoder_, inputs.tokens, inputs.position);
  AttentionOptions self, cross;
  if (decoder_->relative_bias)
    self.offset_bias = decoder_->relative_bias->over_cache(inputs.capacity);
  if (mask.defined()) cross.bias = mask;
  for (std::size_t i = 0; i < decoder_->layers.size(); ++i) {
    const Layer& layer = decoder_->layers[i];
    const Scope at = caches / i;
    const KeyValueCache own =
        make_key_value_cache(at / "self", h.dtype(), rows, heads, inputs.capacity, size);
    const KeyValueCache prompt =
        make_key_value_cache(at / "cross", h.dtype(), rows, heads, source, size);
    const KeyValues keys = layer.cross_attention->key_values(memory);
    result.prompt.add(prompt.keys, take(keys.keys, inputs.prompt_of_row));
    result.prompt.add(prompt.values, take(keys.values, inputs.prompt_of_row));
    h = residual(layer.attention_norm, h, [&](Value x) {
      return layer.attention.decode(x, own, inputs.position, inputs.parents, &result.step, self);
    });
    h = residual(*layer.cross_attention_norm, h, [&](Value x) {
      return layer.cross_attention->attend(x, {prompt.keys, prompt.values}, cross);
    });
    h = feed_forward(layer, h);
  }
  h = select(h, 1, h.size(1) - 1);
  result.logits = logits(decoder_->norm ? (*decoder_->norm)(h) : h);
  return result;
}

}  // namespace weft

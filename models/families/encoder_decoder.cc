#include "weft/models/families/encoder_decoder.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/layers/attention/block_attention.h"
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
  const bool shared = c.shared_tokens() && !c.reads_speech();
  const Embedding tokens = c.reads_speech()
                               ? Embedding{scope, {}}  // only the decoder has a table
                               : make_tokens(shared ? scope : scope / "encoder", c.vocab, c.width);
  encoder_ = make_stack(scope / "encoder", tokens, false);
  if (shared) scope.alias("encoder.tokens.weight", tokens.weight);
  if (stacks == Stacks::encoder) return;
  if (shared) scope.alias("decoder.tokens.weight", tokens.weight);
  const std::int64_t width = c.decoder().width;
  decoder_ =
      make_stack(scope / "decoder",
                 shared ? tokens : make_tokens(scope / "decoder", c.target_vocab(), width), true);
  const Scope head = scope / "head";
  if (c.tied_head) {
    head.alias("weight", decoder_->tokens.weight);
  } else {
    const double range =
        c.initializer_range > 0 ? c.initializer_range : c.initializer_factor / root(width);
    head_ = head.variable("weight", DType::f32, {c.target_vocab(), width},
                          {.initializer = Initializer::normal(range)});
  }
  if (c.head_bias)
    head_bias_ =
        head.variable("bias", DType::f32, {1, c.target_vocab()}, {.kind = VariableKind::buffer});
}

Embedding EncoderDecoder::make_tokens(const Scope& scope, std::int64_t vocab,
                                      std::int64_t width) const {
  const double range =
      config_.initializer_range > 0 ? config_.initializer_range : config_.initializer_factor;
  return make_embedding(
      scope / "tokens",
      {.vocab = vocab,
       .width = width,
       .initializer = Initializer::normal(range),
       .padding_id = config_.frozen_padding ? std::optional(config_.padding_id) : std::nullopt});
}

LinearOptions EncoderDecoder::linear(std::int64_t inputs, bool bias) const {
  const double range = config_.initializer_range > 0 ? config_.initializer_range
                                                     : config_.initializer_factor / root(inputs);
  return {.bias = config_.bias || bias, .initializer = Initializer::normal(range)};
}

Norm EncoderDecoder::make_norm_at(const Scope& scope, std::int64_t width) const {
  return make_norm(
      scope, DType::f32, width,
      {.eps = config_.layer_norm_eps, .rms = config_.rms_norm, .offset = config_.norm_offset});
}

MixtureOfExperts EncoderDecoder::make_experts_at(const Scope& scope, std::int64_t width,
                                                 std::int64_t inner) const {
  const std::optional<Initializer> initializer = linear(width, false).initializer;
  return make_mixture_of_experts(scope, DType::f32, width,
                                 {.experts = config_.experts,
                                  .experts_per_token = 1,
                                  .normalize_weights = false,
                                  .router_bias = config_.router_bias,
                                  .jitter = config_.router_jitter,
                                  .inner = inner,
                                  .activation = config_.activation,
                                  .gated = false,
                                  .dropout = config_.activation_dropout,
                                  .weight_layout = LinearLayout::out_in,
                                  .initializer = initializer,
                                  .down_initializer = initializer,
                                  .row_capacity = config_.expert_capacity});
}

RelativeBias EncoderDecoder::make_relative_bias_at(const Scope& scope, std::int64_t width,
                                                   bool decoder) const {
  const EncoderDecoderConfig& c = config_;
  return make_relative_bias(scope / "relative_bias", DType::f32,
                            {.heads = decoder ? c.decoder_heads : c.encoder_heads,
                             .buckets = c.relative_buckets,
                             .max_distance = c.relative_max_distance,
                             .bidirectional = !decoder,
                             .initializer = *linear(width, false).initializer});
}

EncoderDecoder::Layer EncoderDecoder::make_layer(const Scope& scope, bool decoder,
                                                 std::int64_t index) const {
  const EncoderDecoderConfig& c = config_;
  const Seq2SeqStack stack = decoder ? c.decoder() : c.encoder();
  const std::int64_t size = stack.head_size, inner = stack.inner, width = stack.width;
  MultiHeadAttentionOptions attention{.heads = stack.heads,
                                      .kv_heads = stack.kv_heads,
                                      .head_size = size,
                                      .scale = stack.attention_scale,
                                      .in = linear(width, c.attention_bias),
                                      .key_bias = c.key_bias,
                                      .out = linear(stack.heads * size, c.attention_bias)};
  // If scores are not divided by sqrt(head size), the initial query weights are divided by it
  // instead.
  if (c.initializer_range == 0 && !c.scale_scores)
    attention.query_initializer = linear(width * size, false).initializer;
  const auto make_attention = [&](const Scope& at) {
    return make_multi_head_attention(at, DType::f32, width, attention);
  };
  const auto norm = [&](const char* name) { return make_norm_at(scope / name, width); };
  attention.rotary = c.positions == Seq2SeqPositions::rotary;
  attention.rotary_base = stack.rotary_base;
  using Block = std::variant<FeedForward, MixtureOfExperts>;
  const auto make_block = [&](const Scope& at) -> Block {
    if (c.has_experts(index, decoder)) return make_experts_at(at, width, inner);
    return make_feed_forward(at, DType::f32, width,
                             {.inner = inner,
                              .activation = c.activation,
                              .up = linear(width, c.mlp_bias),
                              .down = linear(inner, c.mlp_bias),
                              .up_name = "up",
                              .down_name = "down",
                              .gated = c.gated});
  };
  Layer layer{.attention = make_attention(scope / "attention"),
              .attention_norm = norm("attention_norm"),
              .feed_forward = make_block(scope / "feed_forward"),
              .feed_forward_norm = norm("feed_forward_norm"),
              .window = stack.window_of(index)};
  const bool sandwich = c.norm == Seq2SeqNorm::sandwich;
  if (sandwich) {
    layer.attention_post_norm = norm("attention_post_norm");
    layer.feed_forward_post_norm = norm("feed_forward_post_norm");
  }
  if (decoder) {
    attention.rotary = false;
    attention.memory_width = c.width;
    layer.cross_attention = make_attention(scope / "cross_attention");
    layer.cross_attention_norm = norm("cross_attention_norm");
    if (sandwich) layer.cross_attention_post_norm = norm("cross_attention_post_norm");
  } else if (c.encoder_block > 0) {
    layer.global_norm = norm("global_norm");
  }
  if (c.relative_bias_layers) layer.relative_bias = make_relative_bias_at(scope, width, decoder);
  return layer;
}

EncoderDecoder::Stack EncoderDecoder::make_stack(const Scope& scope, const Embedding& tokens,
                                                 bool decoder) const {
  const EncoderDecoderConfig& c = config_;
  Stack stack{.scope = scope,
              .options = decoder ? c.decoder() : c.encoder(),
              .tokens = tokens,
              .layer_dropout = decoder ? c.decoder_layer_dropout : c.encoder_layer_dropout};
  const std::int64_t width = stack.options.width;
  if (!decoder && c.reads_speech()) {
    for (const char* name : {"conv1", "conv2"}) {
      const Scope at = scope / name;
      const std::int64_t channels = stack.convolutions.empty() ? c.mel_bins : c.width;
      stack.convolutions.push_back(
          {at.variable("weight", DType::f32, {c.width, channels, 3},
                       {.initializer = *linear(3 * channels, false).initializer}),
           at.variable("bias", DType::f32, {c.width})});
    }
    stack.positions = (scope / "positions")
                          .variable("weight", DType::f32, {c.source_context, c.width},
                                    {.kind = VariableKind::buffer});
  } else if (c.positions == Seq2SeqPositions::learned) {
    const double range = c.initializer_range > 0 ? c.initializer_range : c.initializer_factor;
    stack.positions = (scope / "positions")
                          .variable("weight", DType::f32, {c.position_offset + c.context, width},
                                    {.initializer = Initializer::normal(range)});
  }
  if (c.positions == Seq2SeqPositions::relative_bias && !c.relative_bias_layers)
    stack.relative_bias = make_relative_bias_at(scope, width, decoder);
  if (!decoder && c.encoder_block > 0) {
    const double range = c.initializer_range > 0 ? c.initializer_range : c.initializer_factor;
    stack.global_tokens = (scope / "global_tokens")
                              .variable("weight", DType::f32, {c.global_tokens, width},
                                        {.initializer = Initializer::normal(range)});
  }
  if (c.embedding_norm) stack.embedding_norm = make_norm_at(scope / "embedding_norm", width);
  for (std::int64_t i = 0; i < stack.options.layers; ++i)
    stack.layers.push_back(make_layer(scope / "layers" / i, decoder, i));
  if (c.norm != Seq2SeqNorm::post_norm) stack.norm = make_norm_at(scope / "norm", width);
  return stack;
}

EncoderDecoder EncoderDecoder::in(Mode mode) const {
  EncoderDecoder result = *this;
  result.scope_ = scope_.in(mode);
  for (std::optional<Stack>* stack : {&result.encoder_, &result.decoder_}) {
    if (!*stack) continue;
    for (Layer& layer : (*stack)->layers) {
      auto* experts = std::get_if<MixtureOfExperts>(&layer.feed_forward);
      if (experts == nullptr) continue;
      experts->router.logits.scope = experts->router.logits.scope.in(mode);
      experts->experts.scope = experts->experts.scope.in(mode);
    }
  }
  return result;
}

AttentionOptions EncoderDecoder::attention_options() const {
  AttentionOptions options;
  options.soft_cap = config_.attention_soft_cap;
  if (drops_out(scope_, config_.attention_dropout)) {
    options.dropout = config_.attention_dropout;
    options.key = scope_.graph().key("dropout");
  }
  return options;
}

Value EncoderDecoder::sinusoids(Value ids, Value positions, std::int64_t width, DType dtype) const {
  const SinusoidalRates rates =
      config_.sinusoidal_endpoint ? SinusoidalRates::endpoint : SinusoidalRates::paper;
  if (!config_.positions_skip_padding) return sinusoidal_positions(positions, width, dtype, rates);
  const Value is_token = cast(not_equal(ids, config_.padding_id), DType::i64);
  const Value first = slice(positions, positions.rank() - 1, {.end = Dim(1)});
  return sinusoidal_positions(first + cumsum(is_token, 1) + config_.padding_id, width, dtype,
                              rates) *
         unsqueeze(cast(is_token, dtype), 2);
}

Value EncoderDecoder::embed(const Stack& stack, Value ids, Value position) const {
  Graph& graph = scope_.graph();
  Value h = stack.tokens(ids);
  const std::int64_t width = stack.options.width;
  if (config_.scale_embedding) h = h * root(width);
  if (config_.positions == Seq2SeqPositions::learned ||
      config_.positions == Seq2SeqPositions::sinusoidal) {
    const Value at = position.defined() ? consecutive_positions(position, ids.size(1))
                                        : iota(graph, {ids.size(1)}, 0, DType::i64);
    h = h + (config_.positions == Seq2SeqPositions::learned
                 ? embedding(at + config_.position_offset, stack.positions)
                 : sinusoids(ids, at, width, h.dtype()));
  }
  if (stack.embedding_norm) h = (*stack.embedding_norm)(h);
  return dropout(scope_, h, config_.dropout);
}

Value EncoderDecoder::embed_spectrogram(Value features, Value mask, SourceLocation loc) const {
  const EncoderDecoderConfig& c = config_;
  const auto reject = [&](const Error& e) { scope_.graph().fail(e, "encode", {features}, loc); };
  if (mask.defined()) reject(ArgumentError("spectrograms have a fixed length and no mask"));
  if (features.rank() != 3 || features.size(1) != Dim(c.mel_bins) ||
      features.size(2) != Dim(c.frames())) {
    reject(
        ShapeError(fmt::format("spectrograms must be [batch, {}, {}]: mel_bins, and two frames "
                               "for each of the source_context positions",
                               c.mel_bins, c.frames())));
  }
  Value h = features;
  std::int64_t stride = 1;
  for (const Stack::Conv& conv : encoder_->convolutions) {
    h = gelu(conv1d(h, conv.weight, conv.bias, {.stride = stride, .padding = 1}));
    stride = 2;
  }
  return dropout(scope_, transpose(h) + encoder_->positions, c.dropout);
}

template <class Block>
Value EncoderDecoder::residual(const Norm& norm, const std::optional<Norm>& post_norm, Value h,
                               Block&& block) const {
  if (config_.norm == Seq2SeqNorm::post_norm)
    return norm(h + dropout(scope_, block(h), config_.dropout));
  const Value y = block(norm(h));
  return h + dropout(scope_, post_norm ? (*post_norm)(y) : y, config_.dropout);
}

Value EncoderDecoder::feed_forward(const Layer& layer, Value h,
                                   std::vector<RoutedLayer>* routed) const {
  return residual(layer.feed_forward_norm, layer.feed_forward_post_norm, h, [&](Value x) {
    if (const auto* block = std::get_if<FeedForward>(&layer.feed_forward))
      return block->down(dropout(scope_, block->hidden(x), config_.activation_dropout));
    const MixtureOfExpertsOutput mixed = std::get<MixtureOfExperts>(layer.feed_forward)(x);
    if (routed != nullptr) {
      const Value expert = where(mixed.kept, mixed.routing.experts, 0);
      routed->push_back({0, reshape(mixed.routing.logits, {x.size(0), x.size(1), config_.experts}),
                         reshape(expert, {x.size(0), x.size(1)})});
    }
    return mixed.y;
  });
}

StackOutputs EncoderDecoder::run(const Stack& stack, Value embedded, const AttentionOptions& self,
                                 Value memory, const AttentionOptions& cross) const {
  StackOutputs outputs;
  Value h = embedded;
  for (const Layer& layer : stack.layers) {
    outputs.hidden.push_back(h);
    const Value before = h;
    AttentionOptions own = self;
    own.window = layer.window;
    if (layer.relative_bias) own.offset_bias = (*layer.relative_bias)(h.size(1), h.size(1));
    h = residual(layer.attention_norm, layer.attention_post_norm, h,
                 [&](Value x) { return layer.attention(x, x, own); });
    if (layer.cross_attention) {
      h = residual(*layer.cross_attention_norm, layer.cross_attention_post_norm, h,
                   [&](Value x) { return (*layer.cross_attention)(x, memory, cross); });
    }
    const std::size_t routed = outputs.routed.size();
    h = feed_forward(layer, h, &outputs.routed);
    if (outputs.routed.size() > routed)
      outputs.routed.back().layer = std::ssize(outputs.hidden) - 1;
    if (drops_out(scope_, stack.layer_dropout)) {
      const Value skip = bernoulli(scope_.graph().key("dropout"), Shape{}, stack.layer_dropout);
      h = where(skip, before, h);
    }
  }
  return finish(stack, std::move(outputs), h);
}

StackOutputs EncoderDecoder::finish(const Stack& stack, StackOutputs outputs, Value h) const {
  if (stack.norm) h = (*stack.norm)(h);
  h = dropout(scope_, h, config_.final_dropout);
  outputs.hidden.push_back(h);
  outputs.last_hidden_state = h;
  return outputs;
}

StackOutputs EncoderDecoder::run_blocks(const Stack& stack, Value embedded, Value mask) const {
  const EncoderDecoderConfig& c = config_;
  StackOutputs outputs;
  Value h = embedded;
  Value g = broadcast_to(unsqueeze(stack.global_tokens, 0),
                         {embedded.size(0), c.global_tokens, stack.options.width});
  const AttentionOptions options = attention_options();
  bool shifted = false;  // whether the blocks of this layer are shifted
  for (const Layer& layer : stack.layers) {
    outputs.hidden.push_back(h);
    const auto [tokens, globals] =
        block_attention(layer.attention, layer.attention_norm(h), (*layer.global_norm)(g),
                        {.block = c.encoder_block,
                         .shift = shifted ? c.encoder_block / 2 : 0,
                         .mask = mask,
                         .dropout = options.dropout,
                         .dropout_key = options.key.value()});
    shifted = !shifted && c.stagger_blocks;
    const Value next = feed_forward(layer, h + dropout(scope_, tokens, c.dropout));
    const Value next_g = feed_forward(layer, g + dropout(scope_, globals, c.dropout));
    if (drops_out(scope_, stack.layer_dropout)) {
      const Value skip = bernoulli(scope_.graph().key("dropout"), Shape{}, stack.layer_dropout);
      h = where(skip, h, next);
      g = where(skip, g, next_g);
    } else {
      h = next;
      g = next_g;
    }
  }
  return finish(stack, std::move(outputs), h);
}

StackOutputs EncoderDecoder::encode(Value ids, Value mask, SourceLocation loc) const {
  Graph::Frame frame(scope_.graph(), "encode", loc, scope_.path());
  const Value h =
      config_.reads_speech() ? embed_spectrogram(ids, mask, loc) : embed(*encoder_, ids, {});
  if (config_.encoder_block > 0) return run_blocks(*encoder_, h, mask);
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
  // Models differ in how they treat rows without a visible key (left padding): T5 and T5Gemma
  // attend uniformly to all keys, whereas BART adds both masks, so that the scores of keys excluded
  // by both are -inf.
  if (config_.positions == Seq2SeqPositions::relative_bias ||
      config_.positions == Seq2SeqPositions::rotary)
    return where(later, lowest, padding);
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
  if (config_.tied_head && config_.scale_tied_head) h = h * (1 / root(decoder_->options.width));
  const Variable weight = config_.tied_head ? decoder_->tokens.weight : head_;
  Value y = matmul(h, weight, {.transpose_b = true});
  if (head_bias_.defined()) y = y + reshape(head_bias_, {config_.target_vocab()});
  const double cap = config_.logit_soft_cap;
  return cap > 0 ? tanh(y / cap) * cap : y;
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
  const Dim rows = inputs.tokens.size(0);
  const Dim source = config_.reads_speech() ? Dim(config_.source_context) : inputs.ids.size(1);
  const std::int64_t heads = decoder_->options.kv_heads, size = decoder_->options.head_size;
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
  AttentionOptions self;
  self.soft_cap = config_.attention_soft_cap;
  AttentionOptions cross = self;
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
    if (layer.relative_bias) self.offset_bias = layer.relative_bias->over_cache(inputs.capacity);
    const KeyValues keys = layer.cross_attention->key_values(memory);
    result.prompt.add(prompt.keys, take(keys.keys, inputs.prompt_of_row));
    result.prompt.add(prompt.values, take(keys.values, inputs.prompt_of_row));
    self.window = layer.window;
    h = residual(layer.attention_norm, layer.attention_post_norm, h, [&](Value x) {
      return layer.attention.decode(x, own, inputs.position, inputs.parents, &result.step, self);
    });
    h = residual(*layer.cross_attention_norm, layer.cross_attention_post_norm, h, [&](Value x) {
      return layer.cross_attention->attend(x, {prompt.keys, prompt.values}, cross);
    });
    h = feed_forward(layer, h);
  }
  h = select(h, 1, h.size(1) - 1);
  result.logits = logits(decoder_->norm ? (*decoder_->norm)(h) : h);
  return result;
}

Tensor spectrogram_positions(std::int64_t context, std::int64_t width) {
  Tensor table = Tensor::empty(DType::f32, {context, width});
  auto* out = table.mutable_data<float>();
  const std::int64_t half = width / 2;
  for (std::int64_t p = 0; p < context; ++p) {
    for (std::int64_t j = 0; j < half; ++j) {
      const double rate =
          std::pow(10000.0, -static_cast<double>(j) / static_cast<double>(half - 1));
      const double angle = static_cast<double>(p) * rate;
      out[p * width + j] = static_cast<float>(std::sin(angle));
      out[p * width + half + j] = static_cast<float>(std::cos(angle));
    }
  }
  return table;
}

}  // namespace weft

#include "weft/models/families/encoder.h"

#include <tuple>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/families/rotary_fields.h"
#include "weft/models/layers/attention/heads.h"
#include "weft/models/layers/dropout.h"

namespace weft {
namespace {

EncoderConfig checked(EncoderConfig config) {
  config.check();
  return config;
}

/// Returns a mask [width, 1, kernel] for the convolution weights: 1 for the middle taps, which a
/// feature's group uses, and 0 for all other taps.
Tensor group_tap_mask(const EncoderConfig& c) {
  const std::int64_t widths = (c.conv_kernel - c.conv_least_kernel) / 2 + 1;
  std::vector<float> taps;
  for (std::int64_t feature = 0; feature < c.width; ++feature) {
    const std::int64_t group = feature / (c.width / c.conv_groups);
    const std::int64_t outside = widths - 1 - group % widths;  // unused taps on either side
    for (std::int64_t k = 0; k < c.conv_kernel; ++k)
      taps.push_back(k >= outside && k < c.conv_kernel - outside ? 1.0F : 0.0F);
  }
  return Tensor::of({c.width, 1, c.conv_kernel}, taps);
}

/// Returns true if the encoder has a table of absolute positions. With relative keys the table is
/// declared but not read, because published files contain it.
bool has_positions(const EncoderConfig& c) {
  if (c.positions == EncoderPositions::disentangled) return c.absolute_positions;
  return c.positions != EncoderPositions::none && c.positions != EncoderPositions::rotary;
}

/// Returns AttentionOptions::window for a layer.
std::int64_t attention_window(const EncoderConfig& c, std::int64_t layer) {
  return c.has_window(layer) ? c.window_at(layer) / 2 + 1 : 0;
}

}  // namespace

Encoder::Encoder(const Scope& scope, const EncoderConfig& config, SourceLocation loc)
    : Encoder(scope, config, nullptr, loc) {}

Encoder::Encoder(const Scope& scope, const EncoderConfig& config, const Encoder& shared,
                 SourceLocation loc)
    : Encoder(scope, config, &shared, loc) {}

Encoder::Encoder(const Scope& scope, const EncoderConfig& config, const Encoder* shared,
                 SourceLocation loc)
    : scope_(scope),
      config_(checked(config)),
      linear_{.initializer = Initializer::normal(config.initializer_range)},
      tokens_{scope, {}},
      positions_{scope, {}},
      token_types_{scope, {}},
      task_types_{scope, {}} {
  Graph::Frame frame(scope.graph(), "encoder", loc, scope.path());
  if (shared != nullptr) {
    share_embeddings(*shared);
  } else {
    declare_embeddings();
  }
  declare_projection();
  if (disentangled()) declare_relative_positions();
  for (std::int64_t i = 0; i < config_.distinct_layers(); ++i)
    layers_.push_back(make_layer(scope_ / "layers" / i, i));
  if (config_.final_norm)
    final_norm_ = make_norm(scope_ / "final_norm", DType::f32, config_.width, norm_options());
  if (config_.positions == EncoderPositions::relative_bias) {
    relative_bias_ =
        make_relative_bias(scope_ / "relative_bias", DType::f32,
                           {.heads = config_.heads,
                            .buckets = config_.relative_buckets,
                            .max_distance = config_.relative_max_distance,
                            .initializer = Initializer::normal(config_.initializer_range)});
  }
  if (config_.conv_kernel > 0) {
    const Scope conv = scope_ / "conv";
    conv_ = Convolution{
        conv.variable("weight", DType::f32,
                      {config_.width, config_.width / config_.conv_groups, config_.conv_kernel},
                      {.initializer = Initializer::normal(config_.initializer_range)}),
        conv.variable("bias", DType::f32, {config_.width}),
        config_.norm_first ? Norm{conv, {}, {}, config_.layer_norm_eps}
                           : make_norm(conv / "norm", DType::f32, config_.width, norm_options())};
  }
}

void Encoder::declare_embeddings() {
  const Scope scope = scope_ / "embeddings";
  const EncoderConfig& c = config_;
  const std::int64_t width = c.embeddings();
  const Initializer start = Initializer::normal(c.initializer_range);
  tokens_ =
      make_embedding(scope / "tokens",
                     {.vocab = c.vocab,
                      .width = width,
                      .initializer = start,
                      .padding_id = c.padding_id < 0 ? std::nullopt : std::optional(c.padding_id)});
  if (has_positions(c)) {
    positions_ = make_embedding(
        scope / "positions",
        {.vocab = c.context,
         .width = width,
         .initializer = start,
         .padding_id = c.positions_skip_padding ? std::optional(c.padding_id) : std::nullopt});
    if (!c.trainable_positions) scope_.graph().set_trainable(positions_.weight, false);
  }
  if (c.token_types > 0) {
    token_types_ = make_embedding(scope / "token_types",
                                  {.vocab = c.token_types, .width = width, .initializer = start});
  }
  if (c.task_types > 0) {
    task_types_ = make_embedding(scope / "task_types",
                                 {.vocab = c.task_types, .width = width, .initializer = start});
  }
  if (c.norm_first && !c.embedding_norm) return;
  const bool before = c.embedding_projection == EmbeddingProjection::before_norm;
  embedding_norm_ = make_norm(scope / "norm", DType::f32, before ? c.width : width, norm_options());
}

NormLayerOptions Encoder::norm_options() const {
  return {.eps = config_.layer_norm_eps, .bias = config_.norm_bias, .rms = config_.rms_norm};
}

void Encoder::share_embeddings(const Encoder& other) {
  const EncoderConfig &ours = config_, &theirs = other.config_;
  const auto made_of = [](const EncoderConfig& c) {
    return std::tuple(c.vocab, c.context, c.token_types, c.task_types, c.padding_id, c.embeddings(),
                      has_positions(c), c.positions_skip_padding, c.trainable_positions,
                      c.norm_first, c.embedding_norm, c.rms_norm, c.norm_bias);
  };
  const auto before = EmbeddingProjection::before_norm;
  if (made_of(ours) != made_of(theirs) || ours.embedding_projection == before ||
      theirs.embedding_projection == before) {
    throw ArgumentError(
        "encoders can share embeddings only if their vocabularies, contexts, token types, task "
        "types, padding ids, embedding widths, position encodings, norm_first and norms of the "
        "embeddings are equal, and neither encoder projects before the norm");
  }
  tokens_ = other.tokens_;
  positions_ = other.positions_;
  token_types_ = other.token_types_;
  task_types_ = other.task_types_;
  embedding_norm_ = other.embedding_norm_;
}

void Encoder::declare_projection() {
  const EncoderConfig& c = config_;
  if (c.embedding_projection == EmbeddingProjection::none) return;
  LinearOptions options = linear_;
  options.bias = c.embedding_projection == EmbeddingProjection::after_norm;
  projection_ = make_linear(scope_ / "embeddings" / "projection", DType::f32, c.embeddings(),
                            c.width, options);
}

void Encoder::declare_relative_positions() {
  const Scope scope = scope_ / "relative_positions";
  if (config_.relative_attention) {
    const std::int64_t span =
        config_.position_buckets > 0 ? config_.position_buckets : config_.max_relative;
    relative_ = scope.variable("weight", DType::f32, {2 * span, config_.width},
                               {.initializer = Initializer::normal(config_.initializer_range)});
  }
  if (config_.relative_norm) {
    relative_norm_ = make_norm(scope / "norm", DType::f32, config_.width, norm_options());
  }
}

SelfAttention Encoder::make_rotary_attention(const Scope& scope, std::int64_t index) const {
  const EncoderConfig& c = config_;
  const bool local = c.has_window(index) && c.rotary_window_base != 0;
  LinearOptions linear = linear_;
  linear.bias = c.attention_bias;
  return make_self_attention(
      scope, DType::f32, c.width,
      {.heads = c.heads,
       .kv_heads = c.kv_heads,
       .head_size = c.head_size,
       .causal = c.causal,
       .window = attention_window(c, index),
       .projection = c.fused_qkv ? QkvProjection::fused : QkvProjection::separate,
       .rotary = c.rotary_size(),
       .rotary_base = local ? c.rotary_window_base : c.rotary_base,
       .rotary_scaling = local ? RotaryScaling{} : rotary_scaling(c),
       .rotary_adjacent = c.rotary_adjacent,
       .rotary_values = c.rotary_values,
       .in = linear,
       .out = linear,
       .in_name = "qkv",
       .out_name = "out"});
}

Encoder::Layer Encoder::make_layer(const Scope& scope, std::int64_t index) const {
  const EncoderConfig& c = config_;
  const DType dtype = DType::f32;
  const NormLayerOptions norm = norm_options();
  LinearOptions attention_linear = linear_, up = linear_, down = linear_;
  attention_linear.bias = c.attention_bias;
  up.bias = c.mlp_bias && c.up_bias;
  down.bias = c.mlp_bias;
  std::optional<MultiHeadAttention> attention;
  std::optional<SelfAttention> rotary;
  std::optional<DisentangledAttention> disentangled_attention;
  std::optional<LongformerAttention> longformer;
  if (c.global_attention) {
    longformer = make_longformer_attention(scope / "attention", dtype, c.width,
                                           {.heads = c.heads,
                                            .head_size = c.head_size,
                                            .window = c.window_at(index),
                                            .in = attention_linear,
                                            .out = attention_linear});
  } else if (disentangled()) {
    disentangled_attention =
        make_disentangled_attention(scope / "attention", dtype, c.width,
                                    {.heads = c.heads,
                                     .head_size = c.head_size,
                                     .relative = c.relative_attention,
                                     .content_to_position = c.content_to_position,
                                     .position_to_content = c.position_to_content,
                                     .fused = c.fused_attention,
                                     .shared_projections = c.shared_projections,
                                     .max_relative = c.max_relative,
                                     .buckets = c.position_buckets,
                                     .in = linear_,
                                     .out = linear_});
  } else if (c.positions == EncoderPositions::rotary) {
    rotary = make_rotary_attention(scope / "attention", index);
  } else {
    const RelativeKeys relative = c.positions == EncoderPositions::relative_key ? RelativeKeys::key
                                  : c.positions == EncoderPositions::relative_key_query
                                      ? RelativeKeys::key_query
                                      : RelativeKeys::none;
    attention = make_multi_head_attention(scope / "attention", dtype, c.width,
                                          {.heads = c.heads,
                                           .kv_heads = c.kv_heads,
                                           .head_size = c.head_size,
                                           .in = attention_linear,
                                           .out = attention_linear,
                                           .relative_keys = relative,
                                           .context = c.context});
  }
  std::optional<Norm> attention_norm;
  if (index > 0 || c.first_attention_norm)
    attention_norm = make_norm(scope / "attention_norm", dtype, c.width, norm);
  const FeedForward feed_forward = make_feed_forward(scope / "feed_forward", dtype, c.width,
                                                     {.inner = c.inner,
                                                      .activation = c.activation,
                                                      .up = up,
                                                      .down = down,
                                                      .up_name = "up",
                                                      .down_name = "down",
                                                      .gated = c.gated,
                                                      .fused_gate = c.fused_gate});
  return {attention,
          rotary,
          disentangled_attention,
          longformer,
          attention_norm,
          feed_forward,
          make_norm(scope / "feed_forward_norm", dtype, c.width, norm)};
}

Encoder Encoder::in(Mode mode) const {
  Encoder result = *this;
  result.scope_ = scope_.in(mode);
  return result;
}

Value Encoder::drop(Value x) const { return dropout(scope_, x, config_.hidden_dropout); }

Value Encoder::positions_of(const EncoderInputs& inputs) const {
  if (inputs.position_ids.defined()) return inputs.position_ids;
  const Value ids = inputs.ids;
  Value begins;  // the index of the first token of each token's text
  if (inputs.offsets.defined()) {
    const Value offsets = cast(inputs.offsets, DType::i64);
    begins = take(offsets, segment_ids(offsets, ids.size(1)));
  }
  if (!config_.positions_skip_padding) {
    const Value index = iota(scope_.graph(), {ids.size(1)}, 0, DType::i64);
    return begins.defined() ? index - begins : index;
  }
  const Value token = cast(not_equal(ids, config_.padding_id), DType::i64);
  Value counted = cumsum(token, 1);
  if (begins.defined()) counted = counted - take(counted - token, begins, 1);
  return counted * token + config_.padding_id;
}

Value Encoder::embed(const EncoderInputs& inputs) const {
  Value h = tokens_(inputs.ids);
  const bool absolute = config_.positions == EncoderPositions::absolute ||
                        config_.positions == EncoderPositions::relative_bias ||
                        (disentangled() && config_.absolute_positions);
  if (token_types_.weight.defined()) {
    // Without token_type_ids, all tokens have type 0, so broadcast the row of type 0.
    h = h + (inputs.token_type_ids.defined() ? token_types_(inputs.token_type_ids)
                                             : select(token_types_.weight, 0, Dim(0)));
  }
  if (task_types_.weight.defined()) {
    h = h + (inputs.task_type_ids.defined() ? task_types_(inputs.task_type_ids)
                                            : select(task_types_.weight, 0, Dim(0)));
  }
  if (absolute) h = h + positions_(positions_of(inputs));
  if (config_.embedding_projection == EmbeddingProjection::before_norm) h = (*projection_)(h);
  if (embedding_norm_) h = (*embedding_norm_)(h);
  if (disentangled() && inputs.attention_mask.defined())
    h = h * unsqueeze(cast(inputs.attention_mask, h.dtype()), 2);
  h = dropout(scope_, drop(h), config_.embedding_dropout);
  if (config_.embedding_projection == EmbeddingProjection::after_norm) h = (*projection_)(h);
  return h;
}

Value Encoder::attend(std::size_t index, Value x, Value relative,
                      const EncoderInputs& inputs) const {
  const Layer& layer = layers_[index];
  const Value& tokens = inputs.attention_mask;
  const double rate = drops_out(scope_, config_.attention_dropout) ? config_.attention_dropout : 0;
  const Value key = rate > 0 ? Value(scope_.graph().key("dropout")) : Value();
  if (layer.disentangled) return (*layer.disentangled)(x, relative, tokens, rate, key);
  if (layer.longformer)
    return (*layer.longformer)(x, {tokens, inputs.global_attention_mask, rate, key});
  if (layer.rotary) {
    AttentionInputs options{.dropout = rate, .dropout_key = key};
    if (tokens.defined()) options.mask = unsqueeze(unsqueeze(not_equal(tokens, 0), 1), 1);
    options.position_ids = inputs.position_ids;
    options.offsets = inputs.offsets;
    return (*layer.rotary)(x, options);
  }
  AttentionOptions options{.causal = config_.causal,
                           .window = attention_window(config_, static_cast<std::int64_t>(index)),
                           .dropout = rate,
                           .key = key};
  if (tokens.defined()) options.bias = additive_padding_mask(tokens, x.dtype());
  if (relative.defined()) options.offset_bias = relative;
  options.offsets = inputs.offsets;
  return (*layer.attention)(x, x, options);
}

Value Encoder::apply(std::size_t index, Value h, Value relative,
                     const EncoderInputs& inputs) const {
  const Layer& layer = layers_[index];
  const bool first = config_.norm_first;
  const Value x = first && layer.attention_norm ? (*layer.attention_norm)(h) : h;
  h = h + dropout(scope_, drop(attend(index, x, relative, inputs)), config_.attention_out_dropout);
  if (!first) h = (*layer.attention_norm)(h);
  const FeedForward& block = layer.feed_forward;
  const auto feed_forward = [&](Value input) {
    Graph::Frame frame(scope_.graph(), "feed_forward", SourceLocation::current(),
                       block.scope.path());
    return block.down(dropout(scope_, block.hidden(input), config_.inner_dropout));
  };
  if (first) return h + drop(feed_forward(layer.feed_forward_norm(h)));
  return layer.feed_forward_norm(h + drop(feed_forward(h)));
}

Value Encoder::convolve(Value embedded, Value h, Value mask) const {
  Value keep;
  if (mask.defined()) keep = unsqueeze(cast(mask, h.dtype()), 2);
  // Set padding to zeros, like the convolution's own zero padding before the first token.
  // (DeBERTa's embeddings are already masked.)
  const bool first = config_.norm_first;
  if (first && mask.defined()) embedded = embedded * keep;
  Value weight = conv_->weight;
  if (config_.conv_least_kernel > 0)
    weight = weight * scope_.graph().constant(group_tap_mask(config_));
  const Value x = conv1d(permute(embedded, {0, 2, 1}), weight, conv_->bias,
                         {.padding = (config_.conv_kernel - 1) / 2, .groups = config_.conv_groups});
  Value y = permute(x, {0, 2, 1});
  if (first) return h + drop(activate(config_.conv_activation, y));
  if (mask.defined()) y = y * keep;
  y = conv_->norm(h + activate(config_.conv_activation, drop(y)));
  return mask.defined() ? y * keep : y;
}

bool supports_offsets(const EncoderConfig& config) {
  const bool positions = config.positions != EncoderPositions::relative_key &&
                         config.positions != EncoderPositions::relative_key_query &&
                         config.positions != EncoderPositions::disentangled;
  return positions && !config.global_attention && config.conv_kernel == 0 &&
         !depends_on_length(config.rotary_scaling);
}

EncoderOutputs Encoder::operator()(const EncoderInputs& given, SourceLocation loc) const {
  Graph::Frame frame(scope_.graph(), "encoder", loc, scope_.path());
  const bool places = given.token_places.defined(), mask = given.attention_mask.defined();
  if (!places && !given.offsets.defined()) return run_layers(given);
  const auto reject = [&](const char* what) {
    scope_.graph().fail(ArgumentError(what), "encoder",
                        {places ? given.token_places : given.offsets}, loc);
  };
  if (places && (!mask || given.offsets.defined()))
    reject("token_places need an attention mask and no offsets");
  if (!places && mask) reject("texts without padding (offsets) have no attention mask");
  if (!supports_offsets(config_)) {
    reject(
        "texts without padding (offsets or token_places) do not support relative keys, "
        "disentangled attention, global attention, convolutions and rotary scaling that depends on "
        "the length of the text");
  }
  return places ? without_padding(given) : run_layers(given);
}

EncoderOutputs Encoder::without_padding(const EncoderInputs& padded) const {
  Graph& graph = scope_.graph();
  const Dim &batch = padded.ids.size(0), &seq = padded.ids.size(1);
  const Value& places = padded.token_places;
  const auto gather = [&](Value x) {
    return x.defined()
               ? unsqueeze(take(reshape(broadcast_to(x, {batch, seq}), {batch * seq}), places), 0)
               : x;
  };
  const Value lengths = sum(cast(not_equal(padded.attention_mask, 0), DType::i64), {1});
  EncoderOutputs outputs =
      run_layers({.ids = gather(padded.ids),
                  .token_type_ids = gather(padded.token_type_ids),
                  .position_ids = gather(positions_of(padded)),
                  .task_type_ids = gather(padded.task_type_ids),
                  .offsets = concat({zeros(graph, DType::i64, {1}), cumsum(lengths, 0)}, 0)});
  const auto pad = [&](Value h) {
    const Value rows = zeros(graph, h.dtype(), {batch * seq, config_.width});
    return reshape(index_add(rows, places, select(h, 0, Dim(0))), {batch, seq, config_.width});
  };
  for (Value& h : outputs.hidden) h = pad(h);
  outputs.last_hidden_state = pad(outputs.last_hidden_state);
  return outputs;
}

EncoderOutputs Encoder::run_layers(EncoderInputs inputs) const {
  if (config_.positions == EncoderPositions::rotary) inputs.position_ids = positions_of(inputs);
  const Value embedded = embed(inputs);
  Value relative = relative_.defined() ? relative_.value() : Value();
  if (relative.defined() && relative_norm_) relative = (*relative_norm_)(relative);
  if (relative.defined()) relative = drop(relative);
  if (relative_bias_) relative = (*relative_bias_)(inputs.ids.size(1), inputs.ids.size(1));

  EncoderOutputs outputs;
  Value h = embedded;
  if (conv_ && config_.norm_first) h = convolve(embedded, h, inputs.attention_mask);
  const std::int64_t groups = config_.layer_groups == 0 ? config_.layers : config_.layer_groups;
  for (std::int64_t i = 0; i < config_.layers; ++i) {
    outputs.hidden.push_back(h);
    // ALBERT assigns layers to groups by this ratio, which it does not round.
    const double per_group = static_cast<double>(config_.layers) / static_cast<double>(groups);
    const auto group = static_cast<std::int64_t>(static_cast<double>(i) / per_group);
    for (std::int64_t j = 0; j < config_.group_layers; ++j) {
      const auto index = static_cast<std::size_t>(group * config_.group_layers + j);
      h = apply(index, h, relative, inputs);
    }
    if (i == 0 && conv_ && !config_.norm_first) h = convolve(embedded, h, inputs.attention_mask);
  }
  outputs.hidden.push_back(h);
  outputs.last_hidden_state = final_norm_ ? (*final_norm_)(h) : h;
  return outputs;
}

}  // namespace weft

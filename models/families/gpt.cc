#include "weft/models/families/gpt.h"

#include <cmath>
#include <string>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/weights/parameter_count.h"
#include "weft/models/layers/attention/heads.h"
#include "weft/models/layers/attention/positions.h"
#include "weft/models/layers/dropout.h"
#include "weft/models/layers/incremental_state.h"

namespace weft {
namespace {

GptConfig checked(GptConfig config) {
  config.check();
  return config;
}

LinearOptions block_linear(const GptConfig& config, double std, bool bias) {
  return {.bias = bias,
          .weight_layout = config.transposed ? LinearLayout::in_out : LinearLayout::out_in,
          .initializer = Initializer::normal(std)};
}

}  // namespace

std::int64_t GptConfig::parameter_count() const {
  Graph graph;
  const Gpt model(Scope(graph), *this);
  return count_parameters(graph);
}

Gpt::Gpt(const Scope& scope, const GptConfig& config, GptHead head, SourceLocation loc)
    : scope_(scope),
      config_(checked(config)),
      wte_(make_embedding(
          scope / "transformer" / "wte",
          {.vocab = config.vocab,
           .width = config.width,
           .initializer = Initializer::normal(config.initializer_range),
           .padding_id = config.padding_id < 0 ? std::nullopt : std::optional(config.padding_id)},
          loc)) {
  Graph::Frame frame(scope.graph(), "gpt", loc, scope.path());
  if (config.positions == GptPositions::learned) {
    wpe_ = make_embedding(scope / "transformer" / "wpe",
                          {.vocab = config.context,
                           .width = config.width,
                           .initializer = Initializer::normal(config.initializer_range)});
  }
  for (std::int64_t i = 0; i < config.layers; ++i)
    blocks_.push_back(make_block(scope / "transformer" / "h" / i, i));
  if (config.residual != GptResidual::post_norm)
    ln_f_ = make_norm(scope / "transformer" / "ln_f", config.width);
  if (head == GptHead::none) return;
  if (config.tied_head) {
    head_ = wte_.weight;
    scope.alias("lm_head.weight", head_);
  } else {
    head_ = scope.variable("lm_head.weight", DType::f32, {config.vocab, config.width},
                           {.initializer = Initializer::normal(config.initializer_range)});
  }
}

Gpt::Block Gpt::make_block(const Scope& scope, std::int64_t index) const {
  const GptConfig& c = config_;
  const DType dtype = DType::f32;
  const double std = c.initializer_range;
  const double out_std = std / std::sqrt(2.0 * static_cast<double>(c.layers));
  double scale = c.scale_attention ? 1 / std::sqrt(static_cast<double>(c.head_size())) : 1.0;
  if (c.scale_attention_by_inverse_layer) scale /= static_cast<double>(index + 1);
  const bool attention_bias = c.bias || c.attention_bias;
  const Norm ln_1 = make_norm(scope / "ln_1", c.width);
  SelfAttentionOptions attention{.heads = c.heads,
                                 .kv_heads = c.kv_heads,
                                 .head_size = c.head_size(),
                                 .window = c.window,
                                 .scale = scale,
                                 .projection = c.projection,
                                 .rotary = c.rotary_size(),
                                 .rotary_base = c.rotary_base,
                                 .rotary_scaling = c.scaling(),
                                 .linear_bias = c.positions == GptPositions::linear_bias};
  attention.in = block_linear(c, std, attention_bias);
  attention.out = block_linear(c, out_std, attention_bias);
  if (c.qk_norm) {
    attention.query_norm = make_norm(scope / "attn" / "query_norm", c.head_size());
    attention.key_norm = make_norm(scope / "attn" / "key_norm", c.head_size());
  }
  const SelfAttention attn = make_self_attention(scope / "attn", dtype, c.width, attention);
  const Norm ln_2 = make_norm(scope / "ln_2", c.width);
  const FeedForward mlp = make_feed_forward(scope / "mlp", dtype, c.width,
                                            {.inner = c.inner_width(),
                                             .activation = c.activation,
                                             .up = block_linear(c, std, c.bias || c.mlp_bias),
                                             .down = block_linear(c, out_std, c.bias || c.mlp_bias),
                                             .gated = c.gated});
  return {ln_1, attn, ln_2, mlp};
}

Norm Gpt::make_norm(const Scope& scope, std::int64_t width) const {
  return weft::make_norm(scope, DType::f32, width,
                         {.eps = config_.layer_norm_eps,
                          .bias = config_.bias,
                          .rms = config_.norm == GptNorm::rms_norm});
}

void Gpt::set_padded_causality(const PaddedCausality& padded) {
  for (Block& block : blocks_) block.attn.options.padded = padded;
}

Value Gpt::logits(Value h) const { return matmul(h, head_, {.transpose_b = true}); }

Value Gpt::embed(Value ids, Value positions) const {
  const Value h = wte_(ids);
  if (wpe_) return h + (*wpe_)(positions);
  if (config_.positions == GptPositions::sinusoidal)
    return h + sinusoidal_positions(positions, config_.width, h.dtype());
  return h;
}

Value Gpt::apply(const Block& block, Value h, const AttentionInputs& attention,
                 Updates* updates) const {
  const auto drop = [&](Value x) { return dropout(scope_, x, config_.residual_dropout); };
  switch (config_.residual) {
    case GptResidual::pre_norm:
      h = h + drop(block.attn(block.ln_1(h), attention, updates));
      return h + drop(block.mlp(block.ln_2(h)));
    case GptResidual::post_norm:
      h = block.ln_1(h + drop(block.attn(h, attention, updates)));
      return block.ln_2(h + drop(block.mlp(h)));
    case GptResidual::parallel: break;
  }
  return drop(block.mlp(block.ln_2(h))) + drop(block.attn(block.ln_1(h), attention, updates)) + h;
}

Gpt Gpt::in(Mode mode) const {
  Gpt result = *this;
  result.scope_ = scope_.in(mode);
  return result;
}

GptOutputs Gpt::operator()(const GptInputs& inputs, SourceLocation loc) const {
  Graph& graph = scope_.graph();
  Graph::Frame frame(graph, "gpt", loc, scope_.path());
  const Value ids = inputs.ids;
  Value positions = inputs.position_ids;
  if (!positions.defined()) positions = iota(graph, {ids.size(1)}, 0, DType::i64);
  Value h = embed(ids, positions);
  if (inputs.token_type_ids.defined()) h = h + wte_(inputs.token_type_ids);
  h = dropout(scope_, h, config_.embedding_dropout);

  AttentionInputs attention{.position_ids = positions};
  if (drops_out(scope_, config_.attention_dropout, loc)) {
    attention.dropout = config_.attention_dropout;
    attention.dropout_key = graph.key("dropout");
  }
  if (inputs.attention_mask.defined())
    attention.additive_mask = additive_padding_mask(inputs.attention_mask, h.dtype());
  if (inputs.segments.defined()) {
    if (inputs.attention_mask.defined()) {
      graph.fail(ArgumentError("segments and attention_mask cannot be combined"), "gpt",
                 {inputs.segments}, loc);
    }
    attention.mask =
        unsqueeze(equal(unsqueeze(inputs.segments, 2), unsqueeze(inputs.segments, 1)), 1);
  }

  GptOutputs outputs;
  for (const Block& block : blocks_) {
    outputs.hidden.push_back(h);
    h = apply(block, h, attention, nullptr);
  }
  outputs.last_hidden_state = ln_f_ ? (*ln_f_)(h) : h;
  outputs.hidden.push_back(outputs.last_hidden_state);
  if (head_.defined()) outputs.logits = logits(outputs.last_hidden_state);
  return outputs;
}

GptDecoding Gpt::decode(const GptDecodeInputs& inputs, const Dim& capacity,
                        SourceLocation loc) const {
  if (scope_.mode() != Mode::evaluation) return evaluation().decode(inputs, capacity, loc);
  const bool by_slot = inputs.cache_rows.defined();
  const Scope caches = scope_ / (by_slot ? "slots" : "cache");
  require_first_incremental(caches, "decode", loc);
  Graph& graph = scope_.graph();
  Graph::Frame frame(graph, "gpt", loc, scope_.path());
  const Value tokens = inputs.tokens;
  if (!head_.defined())
    graph.fail(ArgumentError("a model without a head has no logits to decode"), "gpt", {tokens},
               loc);
  Value positions = inputs.position_ids, text_length = inputs.text_length, end;
  if (inputs.counts.defined()) end = inputs.position + inputs.counts;
  if (!text_length.defined()) text_length = end;
  if (!positions.defined()) {
    positions = consecutive_positions(inputs.position, tokens.size(1));
    // Padding must not exceed a table of learned positions.
    if (end.defined()) positions = minimum(positions, unsqueeze(end - 1, 1));
  }
  Value h = embed(tokens, positions);
  const ValueType cache_type{h.dtype(), Shape{by_slot ? inputs.slots : tokens.size(0),
                                              config_.key_heads(), capacity, config_.head_size()}};
  GptDecoding result;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Scope scope = caches / "h" / i;
    AttentionCache cache{scope.variable("keys", cache_type, {.kind = VariableKind::cache}),
                         scope.variable("values", cache_type, {.kind = VariableKind::cache}),
                         inputs.position, inputs.cache_rows, text_length};
    const AttentionInputs attention{
        .position_ids = positions, .cache = &cache, .cache_mask = inputs.mask};
    h = apply(blocks_[i], h, attention, &result.updates);
  }
  const Value last =
      inputs.counts.defined()
          ? squeeze(take_along_axis(h,
                                    broadcast_to(reshape(inputs.counts - 1, {h.size(0), 1, 1}),
                                                 {h.size(0), 1, h.size(2)}),
                                    1),
                    1)
          : select(h, 1, h.size(1) - 1);
  result.logits = logits(ln_f_ ? (*ln_f_)(last) : last);
  return result;
}

Program Gpt::decode_program(Value tokens, SourceLocation loc) const {
  require_first_incremental(scope_ / "cache", "decode_program", loc);
  Graph& graph = scope_.graph();
  const Dim& batch = tokens.size(0);
  const Dim& added = tokens.size(1);
  const Dim capacity = graph.dim("capacity");
  const Value position = graph.input("position", DType::i64, {}, loc);
  const Value positions = graph.input("positions", ValueType{DType::i64, Shape{batch, added}}, loc);
  const Value visible =
      graph.input("visible", ValueType{DType::boolean, Shape{batch, capacity}}, loc);
  const GptDecoding decoding =
      decode({.tokens = tokens, .position = position, .position_ids = positions, .mask = visible},
             capacity, loc);
  return Program("decode").output("logits", decoding.logits, loc).update(decoding.updates, loc);
}

Program Gpt::slots_program(Value tokens, SourceLocation loc) const {
  require_first_incremental(scope_ / "slots", "slots_program", loc);
  Graph& graph = scope_.graph();
  const auto per_row = [&](std::string_view name) {
    return graph.input(name, ValueType{DType::i64, Shape{tokens.size(0)}}, loc);
  };
  const GptDecoding decoding = decode({.tokens = tokens,
                                       .position = per_row("slot_positions"),
                                       .cache_rows = per_row("slots"),
                                       .slots = graph.dim("slots"),
                                       .counts = per_row("slot_counts"),
                                       .text_length = per_row("slot_lengths")},
                                      graph.dim("capacity"), loc);
  return Program("slots").output("logits", decoding.logits, loc).update(decoding.updates, loc);
}

void name_outputs(const GptOutputs& outputs) {
  Graph& graph = outputs.last_hidden_state.graph();
  for (std::size_t i = 0; i < outputs.hidden.size(); ++i)
    graph.set_name("hidden." + std::to_string(i), outputs.hidden[i]);
  graph.set_name("last_hidden_state", outputs.last_hidden_state);
  if (outputs.logits.defined()) graph.set_name("logits", outputs.logits);
}

Value next_token_loss(Value logits, Value labels, SourceLocation loc) {
  Graph::Frame frame(logits.graph(), "next_token_loss", loc);
  // Shift the labels, not the logits: slicing off their last row would copy the largest tensor.
  const Value rest = slice(labels, {Slice{}, Slice{.begin = Dim(1)}});
  const Value targets = pad(rest, {{0, 0}, {0, 1}}, {.value = -100});
  return cross_entropy(logits, targets, {.class_axis = -1, .ignore_index = -100});
}

}  // namespace weft

#include "weft/models/families/gpt.h"

#include <cmath>
#include <string>

#include "weft/graph/functions.h"
#include "weft/models/layers/heads.h"

namespace weft {
namespace {

GptConfig checked(GptConfig config) {
  config.check();
  return config;
}

LinearOptions block_linear(const GptConfig& config, double std) {
  return {.bias = config.bias,
          .weight_layout = LinearLayout::in_out,
          .initializer = Initializer::normal(std)};
}

}  // namespace

Gpt::Gpt(const Scope& scope, const GptConfig& config, SourceLocation loc)
    : scope_(scope),
      config_(checked(config)),
      wte_(make_embedding(scope / "transformer" / "wte",
                          {.vocab = config.vocab,
                           .width = config.width,
                           .initializer = Initializer::normal(config.initializer_range)},
                          loc)),
      wpe_(make_embedding(scope / "transformer" / "wpe",
                          {.vocab = config.context,
                           .width = config.width,
                           .initializer = Initializer::normal(config.initializer_range)},
                          loc)),
      ln_f_{scope, {}, {}, config.layer_norm_eps} {
  Graph::Frame frame(scope.graph(), "gpt", loc, scope.path());
  const DType dtype = DType::f32;
  const NormLayerOptions norm{.eps = config.layer_norm_eps, .bias = config.bias};
  const LinearOptions in = block_linear(config, config.initializer_range);
  const LinearOptions out =
      block_linear(config, config.initializer_range / std::sqrt(2.0 * config.layers));
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const Scope block = scope / "transformer" / "h" / i;
    double scale =
        config.scale_attention ? 1 / std::sqrt(static_cast<double>(config.head_size())) : 1.0;
    if (config.scale_attention_by_inverse_layer) scale /= static_cast<double>(i + 1);
    LayerNorm ln_1 = make_layer_norm(block / "ln_1", dtype, config.width, norm);
    SelfAttention attn =
        make_self_attention(block / "attn", dtype, config.width,
                            {.heads = config.heads, .scale = scale, .in = in, .out = out});
    LayerNorm ln_2 = make_layer_norm(block / "ln_2", dtype, config.width, norm);
    FeedForward mlp = make_feed_forward(
        block / "mlp", dtype, config.width,
        {.inner = config.inner_width(), .activation = config.activation, .up = in, .down = out});
    blocks_.push_back({ln_1, attn, ln_2, mlp});
  }
  ln_f_ = make_layer_norm(scope / "transformer" / "ln_f", dtype, config.width, norm);
  if (config.tied_head) {
    head_ = wte_.weight;
    scope.graph().alias(scope.join("lm_head.weight"), head_);
  } else {
    head_ = scope.variable("lm_head.weight", dtype, {config.vocab, config.width},
                           {.initializer = Initializer::normal(config.initializer_range)});
  }
}

Value Gpt::dropout_if(Value x, double rate, bool training) const {
  if (!training || rate == 0) return x;
  return dropout(x, rate, scope_.graph().key("dropout"));
}

Value Gpt::logits(Value h) const { return matmul(h, head_, {.transpose_b = true}); }

GptOutputs Gpt::operator()(const GptInputs& inputs, bool training, SourceLocation loc) const {
  Graph& graph = scope_.graph();
  Graph::Frame frame(graph, "gpt", loc, scope_.path());
  const Value ids = inputs.ids;
  Value positions = inputs.position_ids;
  if (!positions.defined()) positions = iota(graph, {ids.size(1)}, 0, DType::i64);
  Value h = dropout_if(wte_(ids) + wpe_(positions), config_.embedding_dropout, training);

  AttentionInputs attention;
  if (training && config_.attention_dropout > 0) {
    attention.dropout = config_.attention_dropout;
    attention.dropout_key = graph.key("dropout");
  }
  if (inputs.attention_mask.defined())
    attention.additive_mask = additive_padding_mask(inputs.attention_mask, h.dtype());

  GptOutputs outputs;
  for (const Block& block : blocks_) {
    outputs.hidden.push_back(h);
    h = h + dropout_if(block.attn(block.ln_1(h), attention), config_.residual_dropout, training);
    h = h + dropout_if(block.mlp(block.ln_2(h)), config_.residual_dropout, training);
  }
  outputs.last_hidden_state = ln_f_(h);
  outputs.hidden.push_back(outputs.last_hidden_state);
  outputs.logits = logits(outputs.last_hidden_state);
  return outputs;
}

GptDecoding Gpt::decode(Value tokens, Value position, const Dim& capacity,
                        SourceLocation loc) const {
  Graph& graph = scope_.graph();
  Graph::Frame frame(graph, "gpt", loc, scope_.path());
  const Value positions = iota(graph, {tokens.size(1)}, 0, DType::i64) + position;
  Value h = wte_(tokens) + wpe_(positions);
  const ValueType cache_type{h.dtype(),
                             Shape{tokens.size(0), config_.heads, capacity, config_.head_size()}};
  GptDecoding result;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    const Scope scope = scope_ / "cache" / "h" / i;
    AttentionCache cache{scope.variable("keys", cache_type, {.kind = VariableKind::cache}),
                         scope.variable("values", cache_type, {.kind = VariableKind::cache}),
                         position};
    h = h + block.attn(block.ln_1(h), {.cache = &cache}, &result.updates);
    h = h + block.mlp(block.ln_2(h));
  }
  result.logits = logits(ln_f_(select(h, 1, h.size(1) - 1)));
  return result;
}

void name_outputs(const GptOutputs& outputs) {
  Graph& graph = outputs.logits.graph();
  for (std::size_t i = 0; i < outputs.hidden.size(); ++i)
    graph.set_name("hidden." + std::to_string(i), outputs.hidden[i]);
  graph.set_name("last_hidden_state", outputs.last_hidden_state);
  graph.set_name("logits", outputs.logits);
}

Value next_token_loss(Value logits, Value labels, SourceLocation loc) {
  Graph::Frame frame(logits.graph(), "next_token_loss", loc);
  // The labels move, not the logits: cutting the last row off would copy the largest tensor.
  const Value rest = slice(labels, {Slice{}, Slice{.begin = Dim(1)}});
  const Value targets = pad(rest, {{0, 0}, {0, 1}}, {.value = -100});
  return cross_entropy(logits, targets, {.class_axis = -1, .ignore_index = -100});
}

}  // namespace weft

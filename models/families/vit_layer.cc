#include "weft/models/families/vit_layer.h"

#include <cmath>

#include "weft/graph/functions.h"
#include "weft/models/layers/attention/heads.h"
#include "weft/models/layers/dropout.h"

namespace weft {
namespace {

MultiHeadAttention make_attention(const Scope& scope, const VitConfig& c) {
  const auto layer = [&](const char* name, bool bias) {
    return make_linear(
        scope / name, DType::f32, c.width, c.width,
        {.bias = bias, .initializer = Initializer::truncated_normal(c.initializer_range)});
  };
  const std::int64_t size = c.width / c.heads;
  return {.scope = scope,
          .query = layer("query", c.qkv_bias && c.query_bias),
          .key = layer("key", c.qkv_bias && c.key_bias),
          .value = layer("value", c.qkv_bias && c.value_bias),
          .out = layer("out", c.attention_out_bias),
          .heads = c.heads,
          .kv_heads = c.heads,
          .head_size = size,
          .scale = 1 / std::sqrt(static_cast<double>(size)),
          .relative_keys = RelativeKeys::none,
          .context = 0,
          .distances = {}};
}

/// Returns scale * branch, or the branch if there is no scale.
Value scaled(const Variable& scale, Value branch) {
  return scale.defined() ? branch * scale : branch;
}

}  // namespace

Value VitLayer::operator()(const Scope& scope, Value h,
                           const std::function<Value(Value)>& attend) const {
  const auto add = [&](Value branch, const Variable& scale) {
    const Value kept = scaled(scale, weft::dropout(scope, branch, dropout));
    return residual(scope, h, kept, {.drop_path = drop_path});
  };
  h = add(attend(attention_norm(h)), attention_scale);
  return add(feed_forward(feed_forward_norm(h)), feed_forward_scale);
}

Value VitLayer::operator()(const Scope& scope, Value h, const AttentionOptions& options,
                           const TokenRotation& rotation) const {
  return (*this)(scope, h, [&](Value x) {
    if (!rotation.cos.defined()) return attention(x, x, options);
    AttentionOptions rotated = options;
    rotated.scale = attention.scale;
    const KeyValues memory = attention.key_values(x);
    const Value query = rotation(split_heads(attention.query(x), attention.heads));
    return attention.out(
        join_heads(weft::attention(query, rotation(memory.keys), memory.values, rotated)));
  });
}

VitLayer make_vit_layer(const Scope& scope, const VitConfig& c, double drop_path) {
  const LinearOptions linear{.bias = c.mlp_bias,
                             .initializer = Initializer::truncated_normal(c.initializer_range)};
  const NormLayerOptions norm{.eps = c.layer_norm_eps};
  VitLayer layer{make_attention(scope / "attention", c),
                 make_norm(scope / "attention_norm", DType::f32, c.width, norm),
                 make_feed_forward(scope / "feed_forward", DType::f32, c.width,
                                   {.inner = c.inner,
                                    .activation = c.activation,
                                    .up = linear,
                                    .down = linear,
                                    .up_name = "up",
                                    .down_name = "down",
                                    .gated = c.gated,
                                    .fused_gate = c.fused_gate}),
                 make_norm(scope / "feed_forward_norm", DType::f32, c.width, norm)};
  layer.dropout = c.dropout;
  layer.drop_path = drop_path;
  if (c.layer_scale) {
    const VariableOptions start{.initializer = Initializer::constant(c.layer_scale_init)};
    layer.attention_scale = scope.variable("attention_scale", DType::f32, {c.width}, start);
    layer.feed_forward_scale = scope.variable("feed_forward_scale", DType::f32, {c.width}, start);
  }
  if (c.relative_bias) {
    layer.relative_bias = (scope / "attention")
                              .variable("relative_bias", DType::f32,
                                        {relative_bias_rows({c.rows(), c.columns()}), c.heads});
  }
  return layer;
}

double drop_path_of(const VitConfig& config, std::int64_t index, std::int64_t count) {
  if (!config.drop_path_increases) return config.drop_path;
  if (count == 1) return 0;
  return config.drop_path * static_cast<double>(index) / static_cast<double>(count - 1);
}

}  // namespace weft

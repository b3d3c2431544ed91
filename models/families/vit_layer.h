// One block of a vision transformer.
#pragma once

#include <functional>

#include "weft/models/families/vit_config.h"
#include "weft/models/families/vit_positions.h"
#include "weft/models/layers/attention/multi_head_attention.h"
#include "weft/models/layers/feed_forward.h"
#include "weft/models/layers/norm.h"

namespace WEFT_API weft {

/// The parameters of a block:
///
///   h = h + attention_scale * attention(attention_norm(h))
///   h = h + feed_forward_scale * feed_forward(feed_forward_norm(h))
///
/// The scales are vectors [width], which only models with VitConfig::layer_scale have. In training
/// mode, dropout is applied to both branches before the scales, and stochastic depth after them.
struct VitLayer {
  MultiHeadAttention attention;
  Norm attention_norm;
  FeedForward feed_forward;
  Norm feed_forward_norm;
  Variable attention_scale = {}, feed_forward_scale = {};
  Variable relative_bias = {};  // [relative_bias_rows(), heads], only with VitConfig::relative_bias
  double dropout = 0, drop_path = 0;

  /// Maps h [batch, tokens, width] to the same shape. `attend` computes attention(x) from the
  /// normalised tokens. The mode of `scope` determines whether dropout is applied.
  Value operator()(const Scope& scope, Value h, const std::function<Value(Value)>& attend) const;
  /// As above, for attention among all tokens. `rotation` rotates queries and keys.
  Value operator()(const Scope& scope, Value h, const AttentionOptions& options,
                   const TokenRotation& rotation = {}) const;
};

/// Declares the parameters of a block: attention.{query,key,value,out}, attention_norm,
/// feed_forward.{up,down} (and gate, or gate_up instead of gate and up), feed_forward_norm,
/// attention_scale, feed_forward_scale and attention.relative_bias.
VitLayer make_vit_layer(const Scope& scope, const VitConfig& config, double drop_path);

/// Returns the rate of stochastic depth of layer `index` of `count`.
double drop_path_of(const VitConfig& config, std::int64_t index, std::int64_t count);

}  // namespace weft

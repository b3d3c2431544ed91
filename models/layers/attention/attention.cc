#include "weft/models/layers/attention/attention.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/layers/attention/heads.h"
#include "weft/models/layers/features.h"

namespace weft {
namespace {

constexpr std::string_view kProjections[] = {"fused", "fused_by_head", "separate"};

/// Returns the ALiBi biases slope * (offset - zero) for offsets 0, ..., count - 1, as `dtype`
/// [heads, count].
Value linear_bias_table(Graph& graph, std::int64_t heads, const Dim& count, const Dim& zero,
                        DType dtype) {
  std::vector<float> slopes;
  for (const double slope : linear_bias_slopes(heads)) slopes.push_back(static_cast<float>(slope));
  const Value column = cast(graph.constant(Tensor::of({heads, 1}, slopes)), dtype);
  const Value offset = iota(graph, {count}, 0, DType::i64) - dim_value(graph, zero, DType::i64);
  return column * cast(offset, dtype);
}

/// Computes softmax(scale * q k^T + mask) v with primitive ops. The scores of keys excluded by
/// causality are set to the dtype's lowest number before the mask is added. If all other keys of a
/// row are masked, the row therefore attends evenly to masked and excluded keys and propagates
/// gradients, exactly as in Hugging Face's GPT-2.
Value masked_attention(Value q, Value k, Value v, const SelfAttentionOptions& options,
                       const AttentionInputs& inputs) {
  Graph& graph = q.graph();
  const std::int64_t groups = options.heads / options.kv_heads;
  if (groups > 1) {
    k = repeat_interleave(k, groups, 1);
    v = repeat_interleave(v, groups, 1);
  }
  Value scores = matmul(q, k, {.transpose_b = true}) * options.scale;
  const Value distance = position_differences(graph, q.size(2));
  if (options.linear_bias) {
    std::vector<float> slopes;
    for (const double slope : linear_bias_slopes(options.heads))
      slopes.push_back(static_cast<float>(-slope));
    const Value column = graph.constant(Tensor::of({options.heads, 1, 1}, slopes));
    scores = scores + cast(column, q.dtype()) * cast(distance, q.dtype());
  }
  const double lowest = q.dtype() == DType::f64 ? std::numeric_limits<double>::lowest()
                                                : std::numeric_limits<float>::lowest();
  const double forbidden = options.padded.score == 0 ? lowest : options.padded.score;
  const auto forbid = [&](Value allowed) {
    scores = options.padded.added ? scores + where(allowed, zeros(graph, q.dtype(), {}), forbidden)
                                  : where(allowed, scores, forbidden);
  };
  if (options.causal) forbid(distance >= 0);
  if (options.window > 0) forbid(abs(distance) < options.window);
  Value p = softmax(scores + inputs.additive_mask, -1);
  if (inputs.dropout > 0) p = dropout(p, inputs.dropout, inputs.dropout_key);
  return matmul(p, v);
}

/// Queries, keys and values split into heads.
struct Heads {
  Value q, k, v;
};

Heads project(const SelfAttention& layer, Value x) {
  const SelfAttentionOptions& options = layer.options;
  switch (options.projection) {
    case QkvProjection::fused: {
      const std::vector<Value> qkv = split_equal(layer.in(x), 3, -1);
      return {split_heads(qkv[0], options.heads), split_heads(qkv[1], options.heads),
              split_heads(qkv[2], options.heads)};
    }
    case QkvProjection::fused_by_head: {
      const std::vector<Value> qkv = split_equal(split_heads(layer.in(x), options.heads), 3, -1);
      return {qkv[0], qkv[1], qkv[2]};
    }
    case QkvProjection::separate: break;
  }
  return {split_heads(layer.query(x), options.heads), split_heads(layer.key(x), options.kv_heads),
          split_heads(layer.value(x), options.kv_heads)};
}

}  // namespace

ChoiceNames choice_names(QkvProjection) { return {"projection", kProjections}; }

std::vector<double> linear_bias_slopes(std::int64_t heads) {
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  std::vector<double> slopes;
  const auto slope = [](double i, std::int64_t n) {
    return std::exp2(-8.0 * i / static_cast<double>(n));
  };
  for (std::int64_t i = 1; i <= below; ++i) slopes.push_back(slope(static_cast<double>(i), below));
  for (std::int64_t i = 0; i < heads - below; ++i)
    slopes.push_back(slope(static_cast<double>(2 * i + 1), 2 * below));
  return slopes;
}

Value SelfAttention::operator()(Value x, const AttentionInputs& inputs, Updates* updates,
                                SourceLocation loc) const {
  Graph& graph = scope.graph();
  Graph::Frame frame(graph, "self_attention", loc, scope.path());
  if (x.rank() != 3)
    graph.fail(ShapeError("x must be [batch, seq, width]"), "self_attention", {x}, loc);
  auto [q, k, v] = project(*this, x);
  if (options.query_norm) q = (*options.query_norm)(q);
  if (options.key_norm) k = (*options.key_norm)(k);
  const AttentionCache* cache = inputs.cache;
  if (options.rotary > 0) {
    Value positions = inputs.position_ids;
    if (!positions.defined()) {
      positions = cache != nullptr ? consecutive_positions(cache->position, x.size(1))
                                   : iota(graph, {x.size(1)}, 0, DType::i64);
    }
    if (options.rotary_scaling.kind == RotaryScalingKind::none) {
      const RopeOptions rotary{.rotary_dim = options.rotary, .base = options.rotary_base};
      q = rope(q, positions, rotary);
      k = rope(k, positions, rotary);
    } else {
      Value length = cache != nullptr ? cache->text_length : Value();
      if (!length.defined()) {
        length = dim_value(graph, x.size(1), DType::i64);
        if (cache != nullptr) length = length + cache->position;
      }
      const auto turned = [&](Value heads) {
        return scaled_rotary(heads, positions, length, options.rotary, options.rotary_base,
                             options.rotary_scaling);
      };
      q = turned(q);
      k = turned(k);
    }
  }
  AttentionOptions attend{
      .causal = options.causal, .window = options.window, .scale = options.scale};
  Value y;
  if (cache != nullptr) {
    const Value q_start = broadcast_to(cache->position, {x.size(0)});
    k = write_to_cache(cache->keys, k, q_start, cache->rows);
    v = write_to_cache(cache->values, v, q_start, cache->rows);
    updates->add(cache->keys, k);
    updates->add(cache->values, v);
    attend.lengths = q_start + dim_value(graph, x.size(1), DType::i64);
    attend.q_start = q_start;
    attend.kv_rows = cache->rows;
    if (inputs.cache_mask.defined())
      attend.mask = reshape(inputs.cache_mask, {x.size(0), 1, 1, k.size(2)});
    if (options.linear_bias) {
      const Dim capacity = k.size(2);
      attend.offset_bias =
          linear_bias_table(graph, options.heads, capacity * 2, capacity, x.dtype());
    }
    y = attention(q, k, v, attend);
  } else if (inputs.additive_mask.defined()) {
    y = masked_attention(q, k, v, options, inputs);
  } else {
    if (inputs.mask.defined()) attend.mask = inputs.mask;
    attend.dropout = inputs.dropout;
    attend.key = inputs.dropout_key;
    if (options.linear_bias) {
      attend.offset_bias =
          linear_bias_table(graph, options.heads, x.size(1) * 2 - 1, x.size(1) - 1, x.dtype());
    }
    y = attention(q, k, v, attend);
  }
  return out(join_heads(y));
}

SelfAttention make_self_attention(const Scope& scope, DType dtype, std::int64_t width,
                                  const SelfAttentionOptions& given, SourceLocation loc) {
  Graph::Frame frame(scope.graph(), "self_attention", loc, scope.path());
  SelfAttentionOptions options = given;
  const auto reject = [&](const std::string& what) {
    scope.graph().fail(ArgumentError(what), "self_attention", {}, loc);
  };
  if (options.heads < 1 || (options.head_size == 0 && width % options.heads != 0))
    reject(fmt::format("width {} is not a multiple of heads {}", width, options.heads));
  if (options.kv_heads == 0) options.kv_heads = options.heads;
  if (options.kv_heads < 1 || options.heads % options.kv_heads != 0)
    reject(
        fmt::format("heads {} is not a multiple of kv_heads {}", options.heads, options.kv_heads));
  const bool separate = options.projection == QkvProjection::separate;
  if (!separate && options.kv_heads != options.heads)
    reject(fmt::format("kv_heads {} differs from heads {}: the projection must be separate",
                       options.kv_heads, options.heads));
  if (options.head_size == 0) options.head_size = width / options.heads;
  const std::int64_t size = options.head_size, inner = options.heads * size;
  if (options.scale == 0) options.scale = 1 / std::sqrt(static_cast<double>(size));
  const Linear none{scope, {}, {}, options.in.weight_layout};
  SelfAttention layer{scope, options, none, none, none, none, none};
  if (separate) {
    const std::int64_t kv = options.kv_heads * size;
    layer.query = make_linear(scope / "query", dtype, width, inner, options.in);
    layer.key = make_linear(scope / "key", dtype, width, kv, options.in);
    layer.value = make_linear(scope / "value", dtype, width, kv, options.in);
  } else {
    layer.in = make_linear(scope / options.in_name, dtype, width, 3 * inner, options.in);
  }
  layer.out = make_linear(scope / options.out_name, dtype, inner, width, options.out);
  return layer;
}

Value self_attention(const Scope& scope, Value x, const SelfAttentionOptions& options,
                     SourceLocation loc) {
  const std::int64_t width = last_axis_size(scope, x, "self_attention", loc);
  return make_self_attention(scope, x.dtype(), width, options, loc)(x, {}, nullptr, loc);
}

}  // namespace weft

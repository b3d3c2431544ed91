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

constexpr std::string_view kProjections[] = {"fused", "fused_by_head", "separate",
                                             "fused_by_quarter"};

/// Returns the ALiBi slopes, `dtype` [heads, 1].
Value slope_column(Graph& graph, const SelfAttentionOptions& options, DType dtype) {
  std::vector<float> slopes;
  for (const double slope : linear_bias_slopes(options.heads, options.linear_bias_max))
    slopes.push_back(static_cast<float>(slope * options.linear_bias_scale));
  return cast(graph.constant(Tensor::of({options.heads, 1}, slopes)), dtype);
}

/// Returns the ALiBi biases slope * (offset - zero) for offsets 0, ..., count - 1, as `dtype`
/// [heads, count].
Value linear_bias_table(Graph& graph, const SelfAttentionOptions& options, const Dim& count,
                        const Dim& zero, DType dtype) {
  const Value offset = iota(graph, {count}, 0, DType::i64) - dim_value(graph, zero, DType::i64);
  return slope_column(graph, options, dtype) * cast(offset, dtype);
}

/// Returns bool [batch, 1, queries, keys], or without the batch axis: true if a query and a key are
/// in the same chunk. `positions` are those of the keys, [batch, keys] or [keys]; `first` is the
/// index of the first query among the keys of each row, i64 [batch], if only the last keys are
/// queries.
Value in_same_chunk(Value positions, std::int64_t chunk, const Value& first = {},
                    const Dim& queries = {}) {
  const Value keys = positions / chunk;
  Value of_query = keys;
  if (first.defined()) of_query = take_along_axis(keys, consecutive_positions(first, queries), 1);
  const Value same = equal(unsqueeze(of_query, keys.rank()), unsqueeze(keys, keys.rank() - 1));
  return keys.rank() == 2 ? unsqueeze(same, 1) : same;
}

/// Returns the softmax of scores [batch, heads, queries, keys] over the keys and one more key with
/// the scores `sinks` [heads], without the probability of that key.
Value probabilities_with_sinks(Value scores, Value sinks) {
  const Dim& keys = scores.size(3);
  const Shape column{scores.size(0), scores.size(1), scores.size(2), 1};
  const Value sink =
      broadcast_to(reshape(cast(sinks, scores.dtype()), {1, scores.size(1), 1, 1}), column);
  return slice(softmax(concat({scores, sink}, 3), -1), 3, {.begin = Dim(0), .end = keys});
}

/// Computes softmax(scale * q k^T + mask) v with primitive ops. The scores of keys excluded by
/// causality are set to the dtype's lowest number before the mask is added. If all other keys of a
/// row are masked, the row therefore attends evenly to masked and excluded keys and propagates
/// gradients, exactly as in Hugging Face's GPT-2.
Value masked_attention(const SelfAttention& layer, Value q, Value k, Value v,
                       const AttentionInputs& inputs) {
  const SelfAttentionOptions& options = layer.options;
  Graph& graph = q.graph();
  const std::int64_t groups = options.heads / options.kv_heads;
  if (groups > 1) {
    k = repeat_interleave(k, groups, 1);
    v = repeat_interleave(v, groups, 1);
  }
  Value scores = matmul(q, k, {.transpose_b = true}) * options.scale;
  if (options.soft_cap > 0) scores = tanh(scores / options.soft_cap) * options.soft_cap;
  const Value distance = position_differences(graph, q.size(2));
  if (options.linear_bias) {
    const Value slopes = unsqueeze(slope_column(graph, options, q.dtype()), 2);
    scores = scores + -slopes * cast(distance, q.dtype());
  }
  const double lowest = q.dtype() == DType::f64 ? std::numeric_limits<double>::lowest()
                                                : std::numeric_limits<float>::lowest();
  const double forbidden = options.padded.score == 0 ? lowest : options.padded.score;
  const auto forbid = [&](Value allowed) {
    scores = options.padded.added ? scores + where(allowed, zeros(graph, q.dtype(), {}), forbidden)
                                  : where(allowed, scores, forbidden);
  };
  if (options.causal) forbid(distance >= 0);
  if (options.window_chunks) {
    const Value positions = inputs.chunk_positions.defined()
                                ? inputs.chunk_positions
                                : iota(graph, {q.size(2)}, 0, DType::i64);
    forbid(in_same_chunk(positions, options.window));
  } else if (options.window > 0) {
    forbid(abs(distance) < options.window);
  }
  scores = scores + inputs.additive_mask;
  Value p =
      layer.sinks.defined() ? probabilities_with_sinks(scores, layer.sinks) : softmax(scores, -1);
  if (inputs.dropout > 0) p = dropout(p, inputs.dropout, inputs.dropout_key);
  return matmul(p, v);
}

QueriesKeysValues project(const SelfAttention& layer, Value x) {
  const SelfAttentionOptions& options = layer.options;
  const std::int64_t size = options.head_size, heads = options.heads, kv_heads = options.kv_heads;
  switch (options.projection) {
    case QkvProjection::fused: {
      const std::vector<Value> qkv =
          split(layer.in(x), {heads * size, kv_heads * size, kv_heads * size}, -1);
      return {split_heads(qkv[0], heads), split_heads(qkv[1], kv_heads),
              split_heads(qkv[2], kv_heads)};
    }
    case QkvProjection::fused_by_head: {
      const std::int64_t group = heads / kv_heads;
      const std::vector<Value> qkv =
          split(split_heads(layer.in(x), kv_heads), {group * size, size, size}, -1);
      return {group == 1 ? qkv[0] : split_heads(join_heads(qkv[0]), heads), qkv[1], qkv[2]};
    }
    case QkvProjection::fused_by_quarter: {
      const std::vector<Value> qvk = split_equal(split_heads(layer.in(x), 4), 3, -1);
      const auto heads_of = [&](const Value& quarters) {
        return split_heads(join_heads(quarters), heads);
      };
      return {heads_of(qvk[0]), heads_of(qvk[2]), heads_of(qvk[1])};
    }
    case QkvProjection::separate: break;
  }
  return {split_heads(layer.query(x), heads), split_heads(layer.key(x), kv_heads),
          split_heads(layer.value(x), kv_heads)};
}

}  // namespace

ChoiceNames choice_names(QkvProjection) { return {"projection", kProjections}; }

std::vector<double> linear_bias_slopes(std::int64_t heads, double max) {
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  std::vector<double> slopes;
  const auto slope = [&](double i, std::int64_t n) {
    return std::exp2(-max * i / static_cast<double>(n));
  };
  for (std::int64_t i = 1; i <= below; ++i) slopes.push_back(slope(static_cast<double>(i), below));
  for (std::int64_t i = 0; i < heads - below; ++i)
    slopes.push_back(slope(static_cast<double>(2 * i + 1), 2 * below));
  return slopes;
}

namespace {

/// Positions of the tokens in an application of a layer.
struct Placement {
  Value positions;    // i32 or i64 [batch, seq] or [seq]
  Value text_length;  // i64 scalar or [batch]; only defined for scaled rotary positions
};

Placement placement(const SelfAttention& layer, Value x, const AttentionInputs& inputs) {
  Graph& graph = layer.scope.graph();
  const AttentionCache* cache = inputs.cache;
  Placement place{inputs.position_ids, {}};
  if (!place.positions.defined()) {
    place.positions = cache != nullptr ? consecutive_positions(cache->position, x.size(1))
                                       : iota(graph, {x.size(1)}, 0, DType::i64);
  }
  if (layer.options.rotary_scaling.kind == RotaryScalingKind::none) return place;
  if (cache != nullptr) place.text_length = cache->text_length;
  if (!place.text_length.defined()) {
    place.text_length = dim_value(graph, x.size(1), DType::i64);
    if (cache != nullptr) place.text_length = place.text_length + cache->position;
  }
  return place;
}

/// Returns the factor of the queries at these positions, `dtype` [batch, 1, seq, 1] or [seq, 1].
Value growth_factor(Value positions, const QueryGrowth& growth, DType dtype) {
  const Value passed =
      floor(cast(positions + growth.offset, DType::f64) / static_cast<double>(growth.context));
  const Value factor = unsqueeze(log1p(passed) * growth.rate + 1, positions.rank());
  return cast(positions.rank() == 2 ? unsqueeze(factor, 1) : factor, dtype);
}

/// Returns the queries, keys and values of x with norms and positions.
QueriesKeysValues prepare(const SelfAttention& layer, Value x, const AttentionInputs& inputs) {
  const SelfAttentionOptions& options = layer.options;
  Placement place;
  if (options.rotary > 0 || options.query_growth.rate != 0) place = placement(layer, x, inputs);
  const auto rotate = [&](Value heads) {
    return options.rotary == 0 ? heads
                               : scaled_rotary(heads, place.positions, place.text_length,
                                               options.rotary, options.rotary_base,
                                               options.rotary_scaling, options.rotary_adjacent);
  };
  const auto normalised = [&](const std::optional<Norm>& norm, Value heads) {
    if (!norm) return heads;
    if (!options.norm_all_heads) return (*norm)(heads);
    return split_heads((*norm)(join_heads(heads)), heads.size(1).constant());
  };
  const auto clip = [&](Value heads) {
    return options.clip > 0 ? clamp(heads, -options.clip, options.clip) : heads;
  };
  QueriesKeysValues heads = layer.latent ? (*layer.latent)(x, rotate) : project(layer, x);
  auto& [q, k, v] = heads;
  if (!options.norm_after_rotary) {
    q = normalised(options.query_norm, q);
    k = normalised(options.key_norm, k);
  }
  q = clip(q);
  k = clip(k);
  v = clip(v);
  if (!layer.latent) {
    q = rotate(q);
    k = rotate(k);
    if (options.rotary_values) v = rotate(v);
  }
  if (options.norm_after_rotary) {
    q = normalised(options.query_norm, q);
    k = normalised(options.key_norm, k);
  }
  if (options.query_growth.rate != 0)
    q = q * growth_factor(place.positions, options.query_growth, q.dtype());
  return heads;
}

}  // namespace

Value SelfAttention::operator()(Value x, const AttentionInputs& inputs, Updates* updates,
                                SourceLocation loc) const {
  Graph& graph = scope.graph();
  Graph::Frame frame(graph, "self_attention", loc, scope.path());
  if (x.rank() != 3)
    graph.fail(ShapeError("x must be [batch, seq, width]"), "self_attention", {x}, loc);
  if (inputs.offsets.defined() && (inputs.cache != nullptr || inputs.additive_mask.defined() ||
                                   (options.rotary > 0 && !inputs.position_ids.defined()) ||
                                   depends_on_length(options.rotary_scaling.kind))) {
    graph.fail(ArgumentError("texts without padding (offsets) need position_ids with rotary "
                             "positions, and support no cache, no additive mask and no dynamic or "
                             "longrope rotary scaling"),
               "self_attention", {x, inputs.offsets}, loc);
  }
  auto [q, k, v] = prepare(*this, x, inputs);
  if (inputs.cache == nullptr && inputs.additive_mask.defined())
    return out(join_heads(masked_attention(*this, q, k, v, inputs)));
  AttentionOptions attend{.causal = options.causal, .scale = options.scale};
  attend.soft_cap = options.soft_cap;
  if (sinks.defined()) attend.sinks = sinks;
  const bool counted_chunks = options.window_chunks && inputs.chunk_positions.defined();
  // A chunk is part of the window of the same size, which bounds the keys that are computed.
  attend.window = options.window;
  if (options.window_chunks && !counted_chunks) attend.chunk = options.window;
  if (const AttentionCache* cache = inputs.cache; cache != nullptr) {
    const Value q_start = broadcast_to(cache->position, {x.size(0)});
    const bool circular = cache->ring != Dim();
    const bool table = cache->rows.defined() && cache->rows.rank() == 2;
    Dim capacity = circular ? cache->ring : cache->keys.shape()[2];
    if (table) capacity = cache->rows.size(1) * capacity;
    if (circular) attend.ring = capacity;
    k = write_to_cache(cache->keys, k, q_start, cache->rows, circular);
    v = write_to_cache(cache->values, v, q_start, cache->rows, circular);
    updates->add(cache->keys, k);
    updates->add(cache->values, v);
    attend.lengths = cache->lengths.defined() ? cache->lengths
                                              : q_start + dim_value(graph, x.size(1), DType::i64);
    attend.q_start = q_start;
    attend.kv_rows = cache->rows;
    Value mask;
    if (inputs.cache_mask.defined()) mask = reshape(inputs.cache_mask, {x.size(0), 1, 1, capacity});
    if (counted_chunks) {
      const Value same = in_same_chunk(inputs.chunk_positions, options.window, q_start, x.size(1));
      mask = mask.defined() ? logical_and(mask, same) : same;
    }
    if (mask.defined()) attend.mask = mask;
    if (options.linear_bias)
      attend.offset_bias = linear_bias_table(graph, options, capacity * 2, capacity, x.dtype());
  } else {
    Value mask = inputs.mask;
    if (counted_chunks) {
      const Value same = in_same_chunk(inputs.chunk_positions, options.window);
      mask = mask.defined() ? logical_and(mask, same) : same;
    }
    if (mask.defined()) attend.mask = mask;
    attend.dropout = inputs.dropout;
    attend.key = inputs.dropout_key;
    attend.offsets = inputs.offsets;
    if (options.linear_bias) {
      attend.offset_bias =
          linear_bias_table(graph, options, x.size(1) * 2 - 1, x.size(1) - 1, x.dtype());
    }
  }
  return out(join_heads(attention(q, k, v, attend)));
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
  if (options.latent && (options.kv_heads != options.heads || options.query_norm ||
                         options.key_norm || options.clip != 0 || options.rotary_values)) {
    reject(
        "latent attention needs kv_heads equal to heads, and supports no clip, query_norm, "
        "key_norm or rotary_values");
  }
  if (!options.latent && options.projection == QkvProjection::fused_by_quarter &&
      (options.heads % 4 != 0 || options.kv_heads != options.heads)) {
    reject(
        fmt::format("projection fused_by_quarter needs kv_heads = heads, a multiple of 4, not "
                    "heads {} and kv_heads {}",
                    options.heads, options.kv_heads));
  }
  if (options.window_chunks && options.window < 1)
    reject("window_chunks needs the size of a chunk in `window`");
  if (options.head_size == 0) options.head_size = width / options.heads;
  const std::int64_t size = options.head_size, inner = options.heads * size;
  if (options.scale == 0) options.scale = 1 / std::sqrt(static_cast<double>(size));
  const Linear none{scope, {}, {}, options.in.weight_layout};
  SelfAttention layer{scope, options, none, none, none, none, {}, none};
  std::int64_t values = inner;
  if (options.latent) {
    layer.latent = make_latent_projection(scope, dtype, width, options.heads, size, options.rotary,
                                          *options.latent, options.in, loc);
    values = options.heads * layer.latent->options.value_size;
  } else if (separate) {
    const std::int64_t kv = options.kv_heads * size;
    layer.query = make_linear(scope / "query", dtype, width, inner, options.in);
    layer.key = make_linear(scope / "key", dtype, width, kv, options.in);
    layer.value = make_linear(scope / "value", dtype, width, kv, options.in);
  } else {
    layer.in = make_linear(scope / options.in_name, dtype, width,
                           inner + 2 * options.kv_heads * size, options.in);
  }
  layer.out = make_linear(scope / options.out_name, dtype, values, width, options.out);
  if (options.sinks)
    layer.sinks =
        scope.variable("sinks", dtype, {options.heads}, {.initializer = Initializer::zeros()});
  return layer;
}

Value self_attention(const Scope& scope, Value x, const SelfAttentionOptions& options,
                     SourceLocation loc) {
  const std::int64_t width = last_axis_size(scope, x, "self_attention", loc);
  return make_self_attention(scope, x.dtype(), width, options, loc)(x, {}, nullptr, loc);
}

}  // namespace weft

#include "weft/models/layers/attention/multi_head_attention.h"

#include <fmt/format.h>

#include <cmath>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/layers/attention/heads.h"

namespace weft {
namespace {

/// Rotates the queries or keys [batch, heads, seq, head_size] of a layer with rotary positions.
/// `position` is the number of earlier tokens, i64 scalar or [batch], or undefined for none.
Value rotated(const MultiHeadAttention& layer, Value heads, Value position) {
  if (!layer.rotary) return heads;
  const Dim& count = heads.size(2);
  return rope(heads,
              position.defined() ? consecutive_positions(position, count)
                                 : iota(heads.graph(), {count}, 0, DType::i64),
              {.base = layer.rotary_base});
}

/// Applies attention from queries q, which are split into heads, to `memory`.
Value attend_from(const MultiHeadAttention& layer, Value q, const KeyValues& memory,
                  AttentionOptions options) {
  options.scale = layer.scale;
  return layer.out(join_heads(attention(q, memory.keys, memory.values, options)));
}

}  // namespace

KeyValueCache make_key_value_cache(const Scope& scope, DType dtype, const Dim& batch,
                                   std::int64_t kv_heads, const Dim& capacity,
                                   std::int64_t head_size) {
  const ValueType type{dtype, Shape{batch, kv_heads, capacity, head_size}};
  return {scope.variable("keys", type, {.kind = VariableKind::cache}),
          scope.variable("values", type, {.kind = VariableKind::cache})};
}

KeyValues MultiHeadAttention::key_values(Value memory) const {
  return {split_heads(key(memory), kv_heads), split_heads(value(memory), kv_heads)};
}

Value MultiHeadAttention::attend(Value x, const KeyValues& memory, AttentionOptions options,
                                 SourceLocation loc) const {
  Graph::Frame frame(scope.graph(), "multi_head_attention", loc, scope.path());
  return attend_from(*this, split_heads(query(x), heads), memory, options);
}

Value MultiHeadAttention::decode(Value x, const KeyValueCache& cache, Value position, Value parents,
                                 Updates* updates, AttentionOptions options,
                                 SourceLocation loc) const {
  Graph& graph = scope.graph();
  Graph::Frame frame(graph, "multi_head_attention", loc, scope.path());
  if (relative_keys != RelativeKeys::none) {
    graph.fail(ArgumentError("relative keys do not support decoding with a cache"),
               "multi_head_attention", {x}, loc);
  }
  if (parents.defined() && options.kv_rows.present()) {
    graph.fail(ArgumentError("parents and kv_rows cannot be combined: kv_rows selects the row of "
                             "the cache that each row continues"),
               "multi_head_attention", {parents}, loc);
  }
  KeyValues added = key_values(x);
  added.keys = rotated(*this, added.keys, position);
  const Value start = broadcast_to(position, {x.size(0)});
  const auto extend = [&](Variable before, Value more) {
    const Value contents = parents.defined() ? take(before, parents, 0) : before.value();
    const Value after = write_to_cache(contents, more, start, options.kv_rows.value());
    updates->add(before, after);
    return after;
  };
  const KeyValues all{extend(cache.keys, added.keys), extend(cache.values, added.values)};
  options.causal = true;
  options.q_start = start;
  options.lengths = start + dim_value(graph, x.size(1), DType::i64);
  return attend_from(*this, rotated(*this, split_heads(query(x), heads), position), all, options);
}

Value MultiHeadAttention::operator()(Value x, Value memory, AttentionOptions options,
                                     SourceLocation loc) const {
  Graph& graph = scope.graph();
  Graph::Frame frame(graph, "multi_head_attention", loc, scope.path());
  if (x.rank() != 3 || memory.rank() != 3) {
    graph.fail(ShapeError("x and memory must be [batch, seq, width]"), "multi_head_attention",
               {x, memory}, loc);
  }
  const Value q = rotated(*this, split_heads(query(x), heads), {});
  auto [k, v] = key_values(memory);
  k = rotated(*this, k, {});
  options.scale = scale;
  if (relative_keys != RelativeKeys::none) {
    const Value index = position_differences(graph, x.size(1)) + (context - 1);
    options.row_bias = matmul(q, distances, {.transpose_b = true}) * scale;
    options.row_index = index;
    if (relative_keys == RelativeKeys::key_query) {
      options.col_bias = matmul(k, distances, {.transpose_b = true}) * scale;
      options.col_index = index;
    }
  }
  return out(join_heads(attention(q, k, v, options)));
}

MultiHeadAttention make_multi_head_attention(const Scope& scope, DType dtype, std::int64_t width,
                                             const MultiHeadAttentionOptions& options,
                                             SourceLocation loc) {
  LinearOptions query_options = options.in;
  if (options.query_initializer) query_options.initializer = options.query_initializer;
  LinearOptions key_options = options.in;
  key_options.bias = options.in.bias && options.key_bias;
  Graph::Frame frame(scope.graph(), "multi_head_attention", loc, scope.path());
  const auto reject = [&](const std::string& what) {
    scope.graph().fail(ArgumentError(what), "multi_head_attention", {}, loc);
  };
  const std::int64_t heads = options.heads;
  if (heads < 1 || (options.head_size == 0 && width % heads != 0))
    reject(fmt::format("width {} is not a multiple of heads {}", width, heads));
  const std::int64_t kv_heads = options.kv_heads == 0 ? heads : options.kv_heads;
  if (kv_heads < 1 || heads % kv_heads != 0)
    reject(fmt::format("heads {} is not a multiple of kv_heads {}", heads, kv_heads));
  const bool relative = options.relative_keys != RelativeKeys::none;
  if (relative && (options.context < 1 || kv_heads != heads))
    reject("relative keys need a context of at least 1 and kv_heads equal to heads");
  const std::int64_t size = options.head_size == 0 ? width / heads : options.head_size;
  if (options.rotary && size % 2 != 0)
    reject(fmt::format("rotary positions need an even head size, not {}", size));
  const std::int64_t memory = options.memory_width == 0 ? width : options.memory_width;
  MultiHeadAttention layer{
      scope,
      make_linear(scope / "query", dtype, width, heads * size, query_options),
      make_linear(scope / "key", dtype, memory, kv_heads * size, key_options),
      make_linear(scope / "value", dtype, memory, kv_heads * size, options.in),
      make_linear(scope / "out", dtype, heads * size, width, options.out),
      heads,
      kv_heads,
      size,
      options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<double>(size)),
      options.relative_keys,
      options.context,
      {},
      options.rotary,
      options.rotary_base};
  if (relative) {
    layer.distances = (scope / "distances")
                          .variable("weight", dtype, {2 * options.context - 1, size},
                                    {.initializer = Initializer::normal(0.02)});
  }
  return layer;
}

}  // namespace weft

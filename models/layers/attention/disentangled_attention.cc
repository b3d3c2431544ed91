#include "weft/models/layers/attention/disentangled_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/layers/attention/heads.h"

namespace weft {
namespace {

/// Returns the bucket of a distance >= 0. Distances up to half the number of buckets have one
/// bucket each; larger distances have logarithmic buckets. Uses single precision, as the reference
/// implementation does, so that both round up at the same distances.
std::int64_t log_bucket(std::int64_t distance, std::int64_t buckets, std::int64_t max_relative) {
  const std::int64_t mid = buckets / 2;
  if (distance <= mid) return distance;
  const float half = static_cast<float>(mid);
  const float top = static_cast<float>(static_cast<double>(max_relative - 1) / half);
  const float share = std::log(static_cast<float>(distance) / half) / std::log(top);
  return static_cast<std::int64_t>(std::ceil(share * static_cast<float>(mid - 1))) + mid;
}

/// Splits a table [rows, heads * size] into heads: [heads, rows, size].
Value table_heads(Value table, std::int64_t heads, std::int64_t size) {
  return permute(reshape(table, {table.size(0), heads, size}), {1, 0, 2});
}

}  // namespace

Value relative_position_index(Graph& graph, const Dim& length, std::int64_t buckets,
                              std::int64_t max_relative) {
  Value d = position_differences(graph, length);
  const std::int64_t span = buckets > 0 ? buckets : max_relative;
  if (buckets > 0) {
    // A look-up table of distances, up to the first one whose bucket exceeds the span, or up to a
    // fixed multiple of max_relative if there is none.
    std::vector<std::int64_t> half;
    for (std::int64_t i = 0; i <= 8 * max_relative; ++i) {
      half.push_back(log_bucket(i, buckets, max_relative));
      if (half.back() > span) break;
    }
    const auto last = static_cast<std::int64_t>(half.size()) - 1;
    std::vector<std::int64_t> table;
    for (std::int64_t i = -last; i <= last; ++i) {
      const std::int64_t bucket = half[static_cast<std::size_t>(std::abs(i))];
      table.push_back(i < 0 ? -bucket : bucket);
    }
    const Value lookup = graph.constant(Tensor::of({2 * last + 1}, table));
    const auto bound = static_cast<double>(last);
    d = take(lookup, clamp(d, -bound, bound) + last);
  }
  return clamp(d + span, 0, static_cast<double>(2 * span - 1));
}

Value DisentangledAttention::operator()(Value x, Value relative, Value mask, double dropout,
                                        Value dropout_key, SourceLocation loc) const {
  Graph& graph = scope.graph();
  Graph::Frame frame(graph, "disentangled_attention", loc, scope.path());
  const std::int64_t heads = options.heads, size = options.head_size;
  Value q, k, v;
  if (options.fused) {
    const std::vector<Value> qkv = split_equal(split_heads(in(x), heads), 3, -1);
    q = qkv[0] + reshape(query_bias, {heads, 1, size});
    k = qkv[1];
    v = qkv[2] + reshape(value_bias, {heads, 1, size});
  } else {
    q = split_heads(query(x), heads);
    k = split_heads(key(x), heads);
    v = split_heads(value(x), heads);
  }
  AttentionOptions attend{.scale = scale, .dropout = dropout, .key = dropout_key};
  if (options.relative && (options.content_to_position || options.position_to_content)) {
    const Value index =
        relative_position_index(graph, x.size(1), options.buckets, options.max_relative);
    if (options.content_to_position) {
      const Value r = table_heads(position_key(relative), heads, size);
      attend.row_bias = matmul(q, r, {.transpose_b = true}) * scale;
      attend.row_index = index;
    }
    if (options.position_to_content) {
      const Value r = table_heads(position_query(relative), heads, size);
      attend.col_bias = matmul(k, r, {.transpose_b = true}) * scale;
      attend.col_index = index;
    }
  }
  if (mask.defined()) {
    attend.mask = reshape(cast(mask, DType::boolean), {mask.size(0), 1, 1, mask.size(1)});
  }
  Value y = join_heads(attention(q, k, v, attend));
  if (mask.defined()) y = y * unsqueeze(cast(cast(mask, DType::boolean), y.dtype()), 2);
  return out(y);
}

DisentangledAttention make_disentangled_attention(const Scope& scope, DType dtype,
                                                  std::int64_t width,
                                                  DisentangledAttentionOptions options,
                                                  SourceLocation loc) {
  Graph::Frame frame(scope.graph(), "disentangled_attention", loc, scope.path());
  if (options.heads < 1 || (options.head_size == 0 && width % options.heads != 0)) {
    scope.graph().fail(
        ArgumentError(fmt::format("width {} is not a multiple of heads {}", width, options.heads)),
        "disentangled_attention", {}, loc);
  }
  if (options.head_size == 0) options.head_size = width / options.heads;
  const std::int64_t all = options.heads * options.head_size;
  const int terms =
      1 + (options.content_to_position ? 1 : 0) + (options.position_to_content ? 1 : 0);
  const Linear none{scope, {}, {}, options.in.weight_layout};
  DisentangledAttention layer{
      scope,
      options,
      1 / std::sqrt(static_cast<double>(terms) * static_cast<double>(options.head_size)),
      none,
      {},
      {},
      none,
      none,
      none,
      none,
      none,
      make_linear(scope / "out", dtype, all, width, options.out)};
  LinearOptions without_bias = options.in;
  without_bias.bias = false;
  if (options.fused) {
    layer.in = make_linear(scope / "in", dtype, width, 3 * all, without_bias);
    layer.query_bias = scope.variable("query_bias", dtype, {all});
    layer.value_bias = scope.variable("value_bias", dtype, {all});
  } else {
    layer.query = make_linear(scope / "query", dtype, width, all, options.in);
    layer.key = make_linear(scope / "key", dtype, width, all, options.in);
    layer.value = make_linear(scope / "value", dtype, width, all, options.in);
  }
  if (!options.relative) return layer;
  if (options.shared_projections) {
    layer.position_key = layer.key;
    layer.position_query = layer.query;
    return layer;
  }
  if (options.content_to_position) {
    layer.position_key = make_linear(scope / "position_key", dtype, width, all,
                                     options.fused ? without_bias : options.in);
  }
  if (options.position_to_content) {
    layer.position_query = make_linear(scope / "position_query", dtype, width, all, options.in);
  }
  return layer;
}

}  // namespace weft

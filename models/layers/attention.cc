#include "weft/models/layers/attention.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/layers/features.h"
#include "weft/models/layers/heads.h"

namespace weft {
namespace {

/// softmax(scale * q k^T + mask) v in primitives. Keys that causality forbids get the dtype's
/// lowest number before the mask is added, so that a row whose other keys are all masked spreads
/// evenly over both kinds, and passes gradients on, exactly as in Hugging Face's GPT-2.
Value masked_attention(Value q, Value k, Value v, double scale, bool causal,
                       const AttentionInputs& inputs) {
  Value scores = matmul(q, k, {.transpose_b = true}) * scale;
  if (causal) {
    Graph& graph = q.graph();
    const Value row = iota(graph, {q.size(2), k.size(2)}, 0, DType::i64);
    const Value column = iota(graph, {q.size(2), k.size(2)}, 1, DType::i64);
    const double lowest = q.dtype() == DType::f64 ? std::numeric_limits<double>::lowest()
                                                  : std::numeric_limits<float>::lowest();
    scores = where(column <= row, scores, lowest);
  }
  Value p = softmax(scores + inputs.additive_mask, -1);
  if (inputs.dropout > 0) p = dropout(p, inputs.dropout, inputs.dropout_key);
  return matmul(p, v);
}

}  // namespace

Value SelfAttention::operator()(Value x, const AttentionInputs& inputs, Updates* updates,
                                SourceLocation loc) const {
  Graph& graph = scope.graph();
  Graph::Frame frame(graph, "self_attention", loc, scope.path());
  if (x.rank() != 3)
    graph.fail(ShapeError("x must be [batch, seq, width]"), "self_attention", {x}, loc);
  const std::vector<Value> qkv = split_equal(in(x), 3, -1);
  const Value q = split_heads(qkv[0], heads);
  Value k = split_heads(qkv[1], heads);
  Value v = split_heads(qkv[2], heads);
  Value y;
  if (inputs.cache != nullptr) {
    const AttentionCache& cache = *inputs.cache;
    const Value zero = graph.scalar(DType::i64, 0);
    const Value start = stack({zero, zero, cache.position, zero}, 0);
    k = dynamic_update_slice(cache.keys, k, start);
    v = dynamic_update_slice(cache.values, v, start);
    updates->add(cache.keys, k);
    updates->add(cache.values, v);
    const Value q_start = broadcast_to(cache.position, {x.size(0)});
    const Value lengths = q_start + dim_value(graph, x.size(1), DType::i64);
    y = attention(q, k, v,
                  {.causal = causal, .scale = scale, .lengths = lengths, .q_start = q_start});
  } else if (inputs.additive_mask.defined()) {
    y = masked_attention(q, k, v, scale, causal, inputs);
  } else {
    y = attention(
        q, k, v,
        {.causal = causal, .scale = scale, .dropout = inputs.dropout, .key = inputs.dropout_key});
  }
  return out(join_heads(y));
}

SelfAttention make_self_attention(const Scope& scope, DType dtype, std::int64_t width,
                                  const SelfAttentionOptions& options, SourceLocation loc) {
  Graph::Frame frame(scope.graph(), "self_attention", loc, scope.path());
  if (options.heads < 1 || width % options.heads != 0) {
    scope.graph().fail(
        ArgumentError(fmt::format("width {} is not a multiple of heads {}", width, options.heads)),
        "self_attention", {}, loc);
  }
  const double scale = options.scale != 0
                           ? options.scale
                           : 1 / std::sqrt(static_cast<double>(width / options.heads));
  return {scope,
          make_linear(scope / options.in_name, dtype, width, 3 * width, options.in),
          make_linear(scope / options.out_name, dtype, width, width, options.out),
          options.heads,
          options.causal,
          scale};
}

Value self_attention(const Scope& scope, Value x, const SelfAttentionOptions& options,
                     SourceLocation loc) {
  const std::int64_t width = last_axis_size(scope, x, "self_attention", loc);
  return make_self_attention(scope, x.dtype(), width, options, loc)(x, {}, nullptr, loc);
}

}  // namespace weft

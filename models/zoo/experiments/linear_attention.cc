#include "weft/models/zoo/experiments/linear_attention.h"

#include "weft/autodiff/gradients.h"
#include "weft/graph/functions.h"

namespace weft::zoo {
namespace {

/// Returns W x for every row x of xs [batch, n, inputs]. `w` is [outputs, inputs], optionally with
/// a leading batch axis.
Value apply(Value w, Value xs) { return matmul(xs, w, {.transpose_b = true}); }

Value identity(Graph& graph, std::int64_t size, DType dtype) {
  return tril(triu(ones(graph, dtype, Shape{size, size})));
}

/// Returns the block matrix [a b; c d].
Value blocks(Value a, Value b, Value c, Value d) {
  return concat({concat({a, b}, 1), concat({c, d}, 1)}, 0);
}

}  // namespace

Value linear_attention(Value tokens, std::int64_t context, const LinearAttention& weights) {
  const Value shown = slice(tokens, 1, {.end = Dim(context)});
  const Value memory = matmul(apply(weights.value, shown), apply(weights.key, shown),
                              {.transpose_a = true});  // sum_j V e_j (K e_j)^T
  return tokens + apply(weights.projection, apply(memory, apply(weights.query, tokens)));
}

LinearAttention gradient_step_layer(const RegressionPoints& points, double rate) {
  Graph& graph = points.x.graph();
  const DType dtype = points.x.dtype();
  const std::int64_t inputs = points.w0.size(1).constant(), outputs = points.w0.size(0).constant();
  const double count = static_cast<double>(points.x.size(1).constant());
  const auto zero = [&](std::int64_t rows, std::int64_t columns) {
    return zeros(graph, dtype, Shape{rows, columns});
  };
  const Value compare = blocks(identity(graph, inputs, dtype), zero(inputs, outputs),
                               zero(outputs, inputs), zero(outputs, outputs));
  const Value wrong = blocks(zero(inputs, inputs), zero(inputs, outputs), points.w0,
                             -identity(graph, outputs, dtype));
  return {.query = compare,
          .key = compare,
          .value = wrong,
          .projection = identity(graph, inputs + outputs, dtype) * (rate / count)};
}

Value attention_predictions(const RegressionPoints& points, double rate, int layers) {
  const std::int64_t count = points.x.size(1).constant(), inputs = points.x.size(2).constant();
  Value tokens = concat(
      {concat({points.x, points.y}, 2), concat({points.query, -apply(points.w0, points.query)}, 2)},
      1);
  const LinearAttention weights = gradient_step_layer(points, rate);
  for (int i = 0; i < layers; ++i) tokens = linear_attention(tokens, count, weights);
  return -slice(tokens, {{}, {.begin = Dim(count)}, {.begin = Dim(inputs)}});
}

Value gradient_descent_predictions(const RegressionPoints& points, double rate, int steps) {
  const double count = static_cast<double>(points.x.size(1).constant());
  Value w = broadcast_to(points.w0, Shape{points.x.size(0), points.w0.size(0), points.w0.size(1)});
  for (int i = 0; i < steps; ++i) {
    // Every regression in the batch has a separate W, so that the gradient of the sum of all losses
    // consists of the individual gradients.
    const Value loss = sum(square(apply(w, points.x) - points.y)) / (2 * count);
    w = w - gradient(loss, w) * rate;
  }
  return apply(w, points.query);
}

}  // namespace weft::zoo

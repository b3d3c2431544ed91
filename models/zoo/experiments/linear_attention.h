// Linear attention that performs gradient descent (von Oswald et al., "Transformers learn
// in-context by gradient descent", 2023). The tokens are the points (x_j, y_j) of a linear
// regression, and queries (x, -W0 x). One step of gradient descent on the points changes the
// prediction for x. A layer with hand-written weights subtracts this change from the y of every
// token.
#pragma once

#include <cstdint>

#include "weft/graph/functions/arg.h"

namespace weft::zoo {

/// The weights of a self-attention layer without softmax, each [size, size].
struct LinearAttention {
  Value query, key, value, projection;
};

/// Returns e_i + P sum_j V e_j (K e_j . Q e_i) for every token e_i in `tokens` [batch, seq, size].
/// j runs over the first `context` tokens. The result has the same type as `tokens`. The matrix
/// sum_j V e_j (K e_j)^T is computed first, so the cost is O(seq size^2).
Value linear_attention(Value tokens, std::int64_t context, const LinearAttention& weights);

/// The points and queries for a batch of linear regressions from `inputs` to `outputs` dimensions.
struct RegressionPoints {
  Value x;      // [batch, points, inputs]
  Value y;      // [batch, points, outputs]
  Value query;  // [batch, queries, inputs]
  Value w0;     // [outputs, inputs], the initial weights of gradient descent
};

/// Returns the weights of a layer that performs one step of gradient descent with learning rate
/// `rate` on
///   L(W) = 1 / (2 points) sum_j |W x_j - y_j|^2:
///   K = Q = [I 0; 0 0] select x,
///   V = [0 0; W0 -I] computes the residual W0 x - y,
///   P = rate / points I.
LinearAttention gradient_step_layer(const RegressionPoints& points, double rate);

/// Returns the predictions [batch, queries, outputs] of a stack of `layers` layers from
/// gradient_step_layer(), which all have the same weights. Neither L nor a gradient is computed.
Value attention_predictions(const RegressionPoints& points, double rate, int layers);

/// Returns the predictions W x for the queries, [batch, queries, outputs], after `steps` gradient
/// descent steps W -= rate dL/dW that start from W0. The gradients are computed by automatic
/// differentiation.
Value gradient_descent_predictions(const RegressionPoints& points, double rate, int steps);

}  // namespace weft::zoo

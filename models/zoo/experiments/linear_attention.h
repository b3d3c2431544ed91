// Linear attention that takes steps of gradient descent (von Oswald et al., "Transformers learn
// in-context by gradient descent", 2023): tokens are points (x_j, y_j) of a regression and a query
// (x, -W0 x), and a layer with weights written by hand subtracts from every y what one step of
// gradient descent on the shown points changes in the prediction for x.
#pragma once

#include <cstdint>

#include "weft/graph/functions/arg.h"

namespace weft::zoo {

/// The weights of a layer of self-attention without softmax, each [size, size].
struct LinearAttention {
  Value query, key, value, projection;
};

/// e_i + P sum_j V e_j (K e_j . Q e_i), j over the first `context` tokens: tokens [batch, seq,
/// size] -> the same type. The sum over j comes first, so that it costs O(seq size^2).
Value linear_attention(Value tokens, std::int64_t context, const LinearAttention& weights);

/// Points and queries of linear regressions with `outputs` numbers each.
struct RegressionPoints {
  Value x;      // [batch, points, inputs]
  Value y;      // [batch, points, outputs]
  Value query;  // [batch, queries, inputs]
  Value w0;     // [outputs, inputs]: where gradient descent starts
};

/// The layer of one step of gradient descent with this learning rate on
///   L(W) = 1 / (2 points) sum_j |W x_j - y_j|^2:
/// K = Q = [I 0; 0 0] compare x, V = [0 0; W0 -I] makes what is wrong in y, P = rate / points I.
LinearAttention gradient_step_layer(const RegressionPoints& points, double rate);

/// What `layers` such layers, one after the other with the same weights, say: [batch, queries,
/// outputs]. They do not look at L, nor at any gradient.
Value attention_predictions(const RegressionPoints& points, double rate, int layers);

/// W x of the queries after `steps` steps W -= rate dL/dW from W0, by Weft's own gradients.
Value gradient_descent_predictions(const RegressionPoints& points, double rate, int steps);

}  // namespace weft::zoo

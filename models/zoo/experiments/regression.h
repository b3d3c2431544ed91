// Linear regression in context (Garg et al., "What can transformers learn in-context?", 2022): a
// prompt is x_1, y_1, x_2, y_2, ... with y_i = w . x_i (+ noise) and a w of its own, and a model
// says y_k of the points before it. What it says is compared with what solvers find for the same
// points.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/graph/functions/arg.h"
#include "weft/graph/run/session.h"
#include "weft/models/zoo/experiments/small_decoder.h"

namespace weft::zoo {

struct RegressionTask {
  std::int64_t inputs = 3;   // d: the size of x
  std::int64_t points = 10;  // pairs (x, y) of a prompt: 0 to points - 1 are shown before one
  double noise = 0;          // standard deviation of what is added to y
};

/// Prompts: x and w are standard normal.
struct Regressions {
  Value x;      // f32 [batch, points, inputs]
  Value y;      // f32 [batch, points], with noise
  Value clean;  // f32 [batch, points]: w . x
};
Regressions draw_regressions(Arg key, std::int64_t batch, const RegressionTask& task);

// Predictions are [batch, points]: that at point k knows x up to k and y of the points before k, of
// which there are k.

/// Least squares by QR in double; with fewer points than inputs the smallest w that fits them all.
Value least_squares_predictions(Value x, Value y);
/// The w that minimises |X w - y|^2 + penalty |w|^2, by Cholesky in double. With the noise's
/// variance as penalty this is the posterior mean: no predictor has a smaller expected error.
Value ridge_predictions(Value x, Value y, double penalty);
/// A decoder that reads x_1, y_1, x_2, y_2, ... as vectors of one size (y beside zeros) and says at
/// x_k what y_k is.
Value decoder_predictions(const Scope& scope, Value x, Value y, const SmallDecoder& sizes);

/// Mean squared errors by the number of points shown, divided by the number of inputs, so that 1 is
/// what predicting 0 costs. Against w . x, without the noise of the point that is asked for.
struct RegressionErrors {
  std::vector<double> zero, decoder, least_squares;
  std::vector<double> ridge;  // empty without noise
};

/// The experiment: a decoder that learns from new prompts in every step.
class RegressionExperiment {
 public:
  struct Options {
    RegressionTask task = {};
    SmallDecoder decoder = {.layers = 3, .rotary = true};
    std::int64_t batch = 64, steps = 12000;
    double learning_rate = 2e-3;
    std::uint64_t seed = 1;
    int threads = 0;
  };
  explicit RegressionExperiment(const Options& options);

  /// One step; returns its loss, the mean squared error against y over all points.
  double train();
  /// Over `prompts` new prompts, rounded up to whole batches.
  RegressionErrors evaluate(std::int64_t prompts);

 private:
  Options options_;
  Graph graph_;
  Program draw_{"draw"}, draw_fresh_{"draw_fresh"}, train_{"train"}, evaluate_{"evaluate"};
  std::optional<Session> session_;
};

}  // namespace weft::zoo

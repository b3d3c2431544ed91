// In-context linear regression (Garg et al., "What can transformers learn in-context?", 2022). A
// prompt is x_1, y_1, x_2, y_2, ... with y_i = w . x_i (+ noise) and a different w per prompt. A
// model predicts y_k from x_k and the preceding points. It is compared with solvers that are fitted
// to the same points.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/graph/functions/arg.h"
#include "weft/graph/run/session.h"
#include "weft/models/zoo/experiments/small_decoder.h"

namespace weft::zoo {

struct RegressionTask {
  std::int64_t inputs = 3;   // d, the size of x
  std::int64_t points = 10;  // number of pairs (x, y) per prompt
  double noise = 0;          // standard deviation of the noise added to y
};

/// A batch of prompts. The elements of x and w have a standard normal distribution.
struct Regressions {
  Value x;      // f32 [batch, points, inputs]
  Value y;      // f32 [batch, points], with noise
  Value clean;  // f32 [batch, points], w . x without noise
};
/// Generates a batch of prompts with random numbers from `key`.
Regressions draw_regressions(Arg key, std::int64_t batch, const RegressionTask& task);

// The following functions return predictions [batch, points]. The prediction at point k, counted
// from 0, depends on x_0 to x_k and on the y of the k preceding points.

/// Returns the predictions of least squares, computed in double precision by QR. If there are fewer
/// points than inputs, the minimum-norm w that fits all points is used.
Value least_squares_predictions(Value x, Value y);
/// Returns the predictions of ridge regression, in which w minimises |X w - y|^2 + penalty |w|^2. w
/// is computed in double precision by Cholesky factorisation. If the penalty is the variance of the
/// noise, w is the posterior mean, and no predictor has a smaller expected squared error.
Value ridge_predictions(Value x, Value y, double penalty);
/// Returns the predictions of a decoder. The decoder reads x_1, y_1, x_2, y_2, ... as vectors of
/// size `inputs` (each y is padded with zeros). The prediction of y_k is the output at x_k.
Value decoder_predictions(const Scope& scope, Value x, Value y, const SmallDecoder& sizes);

/// Mean squared errors by the number of preceding points. Errors are divided by the number of
/// inputs so that predicting 0 has an expected error of 1. The target is w . x without noise.
struct RegressionErrors {
  std::vector<double> zero, decoder, least_squares;
  std::vector<double> ridge;  // empty without noise
};

/// Trains a decoder on new prompts in every step and compares it with the solvers.
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

  /// Runs one training step and returns its loss, which is the mean squared error relative to y
  /// over all points.
  double train();
  /// Evaluates all predictors on `prompts` new prompts, rounded up to whole batches.
  RegressionErrors evaluate(std::int64_t prompts);

 private:
  Options options_;
  Graph graph_;
  Program draw_{"draw"}, draw_fresh_{"draw_fresh"}, train_{"train"}, evaluate_{"evaluate"};
  std::optional<Session> session_;
};

}  // namespace weft::zoo

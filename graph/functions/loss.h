// Loss functions.
#pragma once

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

/// How elementwise losses are reduced to a scalar.
enum class Reduction {
  mean,        // mean over the elements that are not ignored
  sum,         // sum over all elements
  none,        // no reduction
  batch_mean,  // sum divided by the size of the first axis
  shard_mean,  // mean over the elements of all shards that are not ignored (see shards.h)
};

struct CrossEntropyOptions {
  int class_axis = -1;
  std::int64_t ignore_index = -100;
  double label_smoothing = 0;
  Reduction reduction = Reduction::mean;
};
/// Cross entropy: -ln softmax(logits)[target], with the classes on class_axis. `targets` (i32 or
/// i64) has the shape of `logits` without that axis. Targets equal to ignore_index have loss 0 and
/// are excluded from the mean; any other target outside [0, classes) throws DataError at run time.
/// With label_smoothing e the loss is (1-e) * nll + e/classes * sum over classes of -ln softmax
/// (Szegedy et al. 2016). Probabilities are never stored. If the logits are a product with a
/// weight, as in a language model, the logits are not stored either.
Value cross_entropy(Arg logits, Arg targets, const CrossEntropyOptions& options = {});

// In the functions below, x and target are f32 or f64 and have the same dtype and shape, or one of
// them broadcasts to the other. If both would have to broadcast, as with [batch, 1] and [batch],
// ShapeError is thrown: every row would be compared with every other row.

/// Squared error (x - target)^2.
Value mse(Arg x, Arg target, Reduction reduction = Reduction::mean);
/// Absolute error |x - target|.
Value l1(Arg x, Arg target, Reduction reduction = Reduction::mean);
/// Binary cross entropy with logits: -target * ln sigmoid(x) - (1 - target) * ln(1 - sigmoid(x)),
/// computed without overflow.
Value bce_with_logits(Arg x, Arg target, Reduction reduction = Reduction::mean);
/// Kullback-Leibler divergence: target * (ln target - x), where x are log-probabilities; 0 where
/// target is 0.
Value kl_div(Arg x, Arg target, Reduction reduction = Reduction::mean);

}  // namespace weft

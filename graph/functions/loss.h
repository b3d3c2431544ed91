// Losses.
#pragma once

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

/// How the losses of single elements become one number.
enum class Reduction {
  mean,        // over the elements that count
  sum,         // of all elements
  none,        // stay apart
  batch_mean,  // sum divided by the size of the first axis
  shard_mean,  // over the elements that count in all shards of a batch (shards.h)
};

struct CrossEntropyOptions {
  int class_axis = -1;
  std::int64_t ignore_index = -100;
  double label_smoothing = 0;
  Reduction reduction = Reduction::mean;
};
/// -ln softmax(logits)[target] with classes on class_axis. targets (i32 or i64) have the shape of
/// logits without that axis; those equal to ignore_index give 0 and do not count in the mean; any
/// other one outside [0, classes) is a DataError when the program runs. With label_smoothing e the
/// loss is (1-e) * nll + e/classes * sum over classes of -ln softmax (Szegedy et al. 2016).
/// Probabilities are never stored; of logits that are a product with a weight, as a language
/// model's, not even the logits are.
Value cross_entropy(Arg logits, Arg targets, const CrossEntropyOptions& options = {});

// Below x and target are f32 or f64, of one dtype and one shape; one of them may be repeated for
// the other by broadcasting. [batch, 1] beside [batch], where both would be, is a ShapeError: every
// row would meet every other one.

/// (x - target)^2.
Value mse(Arg x, Arg target, Reduction reduction = Reduction::mean);
/// |x - target|.
Value l1(Arg x, Arg target, Reduction reduction = Reduction::mean);
/// -target * ln sigmoid(x) - (1 - target) * ln(1 - sigmoid(x)), without overflow.
Value bce_with_logits(Arg x, Arg target, Reduction reduction = Reduction::mean);
/// target * (ln target - x), x being log-probabilities; 0 where target is 0.
Value kl_div(Arg x, Arg target, Reduction reduction = Reduction::mean);

}  // namespace weft

// Loss functions.
#pragma once

#include <cstdint>
#include <optional>

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
///
/// Targets with the dtype and shape of `logits` are probabilities of the classes, for example of a
/// teacher (Hinton et al. 2015): the loss is -sum(t * ln softmax(logits)) with t = (1-e) * targets
/// + e/classes, and the mean is over all positions. The targets need not sum to 1, and gradients
/// flow to them. A class with target 0 does not contribute, even if its logit is -inf. ignore_index
/// cannot be set (ArgumentError).
Value cross_entropy(Arg logits, Arg targets, const CrossEntropyOptions& options = {});

struct FocalLossOptions {
  double gamma = 2;  // at least 0; 0 gives cross_entropy()
  int class_axis = -1;
  std::int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
};
/// Focal loss for several classes: (1 - p)^gamma * -ln p with p = softmax(logits)[target] (Lin et
/// al. 2017). `targets` are class indices; they are treated as in cross_entropy(), and the mean is
/// over the targets that are not ignored. Throws ArgumentError for gamma out of range.
Value focal_loss(Arg logits, Arg targets, const FocalLossOptions& options = {});

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
struct SigmoidFocalLossOptions {
  /// The weight of positive elements; the weight of negative elements is 1 - alpha. nullopt means
  /// weight 1 for both. In [0, 1].
  std::optional<double> alpha = 0.25;
  double gamma = 2;  // at least 0; 0 gives bce_with_logits() with weights
  Reduction reduction = Reduction::mean;
};
/// Binary focal loss: alpha_t * (1 - p_t)^gamma * bce_with_logits(x, target), where p_t is the
/// probability sigmoid(x) of target 1 and 1 - sigmoid(x) of target 0 (Lin et al. 2017; torchvision:
/// sigmoid_focal_loss). Reduces the weight of elements that are already classified well. alpha_t
/// and p_t are interpolated linearly for targets between 0 and 1. Accurate for logits of any size.
/// Throws ArgumentError for options out of range.
Value sigmoid_focal_loss(Arg x, Arg target, const SigmoidFocalLossOptions& options = {});
/// Kullback-Leibler divergence: target * (ln target - x), where x are log-probabilities; 0 where
/// target is 0.
Value kl_div(Arg x, Arg target, Reduction reduction = Reduction::mean);

}  // namespace weft

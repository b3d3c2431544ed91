// Softmax and normalisation functions.
#pragma once

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

// x is f32 or f64; results have the dtype and shape of x. Errors name the operands and the caller's
// source line. All functions are O(elements). For the gradients, the result (softmax) or x and two
// numbers per row (norms) are kept.

/// Softmax: exp(x) / sum(exp(x)) along the axis, without overflow. If all elements of a slice are
/// -inf, the result is NaN.
Value softmax(Arg x, int axis = -1);
/// Logarithm of softmax: x - ln(sum(exp(x))) along the axis.
Value log_softmax(Arg x, int axis = -1);
/// Softmax over the elements for which `mask` (bool, broadcast to x) is true; the others are 0. A
/// slice that is entirely masked gives zeros with gradient 0.
Value masked_softmax(Arg x, Arg mask, int axis = -1);

struct LayerNormOptions {
  int axes = 1;  // number of trailing axes that are normalised
  double eps = 1e-5;
};
/// Layer normalisation over the last axes: (x - mean) / sqrt(var + eps) * gain + bias, where var is
/// the biased variance (Ba et al. 2016). gain and bias have the shape of these axes.
Value layer_norm(Arg x, OptionalArg gain = {}, OptionalArg bias = {},
                 const LayerNormOptions& options = {});
/// RMS normalisation over the last axis: x / sqrt(mean(x^2) + eps) * gain (Zhang and Sennrich
/// 2019).
Value rms_norm(Arg x, OptionalArg gain = {}, double eps = 1e-6);
/// Group normalisation of x [N, C, ...]: normalises over the channels of each of `groups` equal
/// groups and all spatial axes; gain and bias are [C] (Wu and He 2018). C is constant and a
/// multiple of `groups`.
Value group_norm(Arg x, int groups, OptionalArg gain = {}, OptionalArg bias = {},
                 double eps = 1e-5);
/// Instance normalisation of x [N, C, ...]: normalises each channel of each sample over the spatial
/// axes; gain and bias are [C] (Ulyanov et al. 2016).
Value instance_norm(Arg x, OptionalArg gain = {}, OptionalArg bias = {}, double eps = 1e-5);

struct BatchNormOptions {
  bool training = true;
  double momentum = 0.1;  // weight of the batch in the new running statistics
  double eps = 1e-5;
};
/// The results of batch_norm().
struct BatchNorm {
  Value out;
  /// New running statistics. In training mode they are (1 - momentum) * running + momentum * batch
  /// statistics, with the unbiased variance of the batch (0 for a single element). In evaluation
  /// mode they are the operands, unchanged. No gradient flows from the new statistics to x.
  Value running_mean, running_variance;
};
/// Batch normalisation: normalises each channel of x [N, C, ...] over all other axes (Ioffe and
/// Szegedy 2015), then multiplies by gain and adds bias. Uses the mean and the biased variance of
/// the batch in training mode, and the running statistics otherwise. All operands other than x are
/// [C]. The running statistics are Variables of kind buffer, which a training program updates:
///   const BatchNorm n = batch_norm(x, mean, variance, gain, bias);
///   program.update(mean, n.running_mean).update(variance, n.running_variance);
BatchNorm batch_norm(Arg x, Arg running_mean, Arg running_variance, OptionalArg gain = {},
                     OptionalArg bias = {}, const BatchNormOptions& options = {});

}  // namespace weft

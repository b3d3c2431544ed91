// Softmax and normalisations.
#pragma once

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

// x is f32 or f64; results have its dtype and shape. Errors name the operands and the caller's
// line. O(elements); backwards they need their result or, of norms, x and two numbers per row.

/// exp(x) / sum(exp(x)) along the axis, without overflow. A slice of -inf only gives NaN.
Value softmax(Arg x, int axis = -1);
/// x - ln(sum(exp(x))) along the axis.
Value log_softmax(Arg x, int axis = -1);
/// Softmax over the elements where `mask` (bool, broadcast to x) is true, 0 elsewhere; a slice
/// without any gives zeros and gradient 0.
Value masked_softmax(Arg x, Arg mask, int axis = -1);

struct LayerNormOptions {
  int axes = 1;  // how many of the last axes are normalised
  double eps = 1e-5;
};
/// (x - mean) / sqrt(var + eps) * gain + bias over the last axes, var without correction (Ba et al.
/// 2016). gain and bias have the shape of these axes.
Value layer_norm(Arg x, OptionalArg gain = {}, OptionalArg bias = {},
                 const LayerNormOptions& options = {});
/// x / sqrt(mean(x^2) + eps) * gain over the last axis (Zhang and Sennrich 2019).
Value rms_norm(Arg x, OptionalArg gain = {}, double eps = 1e-6);
/// Layer norm over each of `groups` equal groups of channels and all spatial axes of x [N, C, ...];
/// gain and bias are [C] (Wu and He 2018). C is constant and a multiple of groups.
Value group_norm(Arg x, int groups, OptionalArg gain = {}, OptionalArg bias = {},
                 double eps = 1e-5);
/// Norm of each sample and channel over the spatial axes of x [N, C, ...]; gain and bias are [C]
/// (Ulyanov et al. 2016).
Value instance_norm(Arg x, OptionalArg gain = {}, OptionalArg bias = {}, double eps = 1e-5);

struct BatchNormOptions {
  bool training = true;
  double momentum = 0.1;  // the share of the batch in new running statistics
  double eps = 1e-5;
};
/// What batch_norm() gives.
struct BatchNorm {
  Value out;
  /// In training (1 - momentum) * running + momentum * the batch's, whose variance is the unbiased
  /// one (of a single element 0); in evaluation what was given. No gradient flows through them.
  Value running_mean, running_variance;
};
/// Norm of each channel of x [N, C, ...] over all other axes (Ioffe and Szegedy 2015): by the
/// batch's mean and variance (without correction) in training, else by the running ones; then
/// * gain + bias. All four operands beside x are [C]. Running statistics are Variables of kind
/// buffer, and a training program updates them:
///   const BatchNorm n = batch_norm(x, mean, variance, gain, bias);
///   program.update(mean, n.running_mean).update(variance, n.running_variance);
BatchNorm batch_norm(Arg x, Arg running_mean, Arg running_variance, OptionalArg gain = {},
                     OptionalArg bias = {}, const BatchNormOptions& options = {});

}  // namespace weft

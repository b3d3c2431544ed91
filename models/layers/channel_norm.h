// Normalisation layers over the channels of images and sequences, with learned gains and biases.
#pragma once

#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

// All layers take x [N, C, ...], f32 or f64, with a known number of channels, and return a value of
// the same type. They declare the parameters "<scope>.weight" [C], initialised to 1, and
// "<scope>.bias" [C], initialised to 0, unless affine is false. The names match PyTorch's modules.

struct BatchNormLayerOptions {
  double momentum = 0.1;  // weight of the batch in the new running statistics
  double eps = 1e-5;
  bool affine = true;
};
/// Batch normalisation: batch_norm() of functions/norm.h with running statistics in the buffers
/// "<scope>.running_mean" (initialised to 0) and "<scope>.running_var" (initialised to 1), both
/// [C]. In a scope in training mode, x is normalised by the statistics of the batch, and every
/// program that computes the result or a gradient through it also updates the running statistics.
/// In evaluation mode, x is normalised by the running statistics. In training mode, one program may
/// apply a layer to only one batch, and the gradient needs three stored values of the size of x;
/// the gradients of the other norms need two. Throws GraphError in a scope without a mode.
Value batch_norm(const Scope& scope, Value x, const BatchNormLayerOptions& options = {},
                 SourceLocation loc = SourceLocation::current());

struct ChannelNormOptions {
  double eps = 1e-5;
  bool affine = true;
};
/// Group normalisation: group_norm() over each of `groups` equal groups of channels.
Value group_norm(const Scope& scope, Value x, int groups, const ChannelNormOptions& options = {},
                 SourceLocation loc = SourceLocation::current());
/// Instance normalisation: instance_norm() over the spatial axes. (PyTorch's module defaults to
/// affine = false.)
Value instance_norm(const Scope& scope, Value x, const ChannelNormOptions& options = {},
                    SourceLocation loc = SourceLocation::current());

}  // namespace weft

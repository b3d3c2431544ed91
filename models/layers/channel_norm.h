// Normalisations of the channels of images and sequences, with gains and biases of their own.
#pragma once

#include <cstdint>

#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

// x is [N, C, ...], f32 or f64, with a known number of channels; results have its type. Parameters:
// "<scope>.weight" [C] (starts at 1) and "<scope>.bias" [C] (starts at 0), unless affine is false.
// Names are those of PyTorch's modules.

struct BatchNormLayerOptions {
  double momentum = 0.1;  // the share of the batch in new running statistics
  double eps = 1e-5;
  bool affine = true;
};
/// batch_norm() (functions/norm.h). In a scope in training mode it norms by the batch, and what
/// computes it, or a gradient through it, updates the running statistics: the buffers
/// "<scope>.running_mean" (starts at 0) and "<scope>.running_var" (starts at 1), both [C]. In
/// evaluation mode it norms by those. One program may apply a layer to one batch in training mode,
/// not to two. Three values of x's size are kept for the gradient in training; of the other norms
/// two. Throws GraphError in a scope without a mode.
Value batch_norm(const Scope& scope, Value x, const BatchNormLayerOptions& options = {},
                 SourceLocation loc = SourceLocation::current());

struct ChannelNormOptions {
  double eps = 1e-5;
  bool affine = true;
};
/// group_norm() over each of `groups` equal groups of channels.
Value group_norm(const Scope& scope, Value x, int groups, const ChannelNormOptions& options = {},
                 SourceLocation loc = SourceLocation::current());
/// instance_norm() over the spatial axes. (PyTorch's module has affine = false by default.)
Value instance_norm(const Scope& scope, Value x, const ChannelNormOptions& options = {},
                    SourceLocation loc = SourceLocation::current());

}  // namespace weft

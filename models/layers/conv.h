// Convolutions with weights of their own, over sequences and images.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/graph/functions/conv.h"
#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

// All declare "<scope>.weight" and "<scope>.bias" [channels], if any, in PyTorch's layouts. Weights
// start uniform in +-1/sqrt(n), n elements of x going into one of the result, as PyTorch's; biases
// start at 0. x is f32 or f64 with a known number of channels. Throws GraphError for an x of
// another graph, DTypeError and ShapeError where x does not fit, ArgumentError for channels or
// groups that cannot be; errors name the caller's line. Costs are in functions/conv.h: time goes
// with elements of the result * C / groups * kernel, and gradients keep x.

struct Conv1dLayerOptions {
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  Padding1d padding = 0;  // or same_padding
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  std::optional<Initializer> initializer = {};  // of the weight
};
/// conv1d of x [N, C, L] with weight [channels, C / groups, kernel] -> [N, channels, OL].
Value conv1d(const Scope& scope, Value x, std::int64_t channels,
             const Conv1dLayerOptions& options = {},
             SourceLocation loc = SourceLocation::current());

struct Conv2dLayerOptions {
  Size2d kernel = {3, 3};
  Size2d stride = {1, 1};
  Padding2d padding = {0, 0};  // or same_padding
  Size2d dilation = {1, 1};
  std::int64_t groups = 1;
  bool bias = true;
  std::optional<Initializer> initializer = {};
};
/// conv2d of x [N, C, H, W] with weight [channels, C / groups, kh, kw] -> [N, channels, OH, OW].
Value conv2d(const Scope& scope, Value x, std::int64_t channels,
             const Conv2dLayerOptions& options = {},
             SourceLocation loc = SourceLocation::current());

struct ConvTranspose1dLayerOptions {
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  Padding1d padding = 0;  // or same_padding: L stride elements
  std::int64_t output_padding = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  std::optional<Initializer> initializer = {};
};
/// conv_transpose1d of x [N, C, L] with weight [C, channels / groups, kernel] -> [N, channels, OL].
Value conv_transpose1d(const Scope& scope, Value x, std::int64_t channels,
                       const ConvTranspose1dLayerOptions& options = {},
                       SourceLocation loc = SourceLocation::current());

struct ConvTranspose2dLayerOptions {
  Size2d kernel = {3, 3};
  Size2d stride = {1, 1};
  Padding2d padding = {0, 0};  // or same_padding: H stride x W stride
  Size2d output_padding = {0, 0};
  Size2d dilation = {1, 1};
  std::int64_t groups = 1;
  bool bias = true;
  std::optional<Initializer> initializer = {};
};
/// conv_transpose2d of x [N, C, H, W] with weight [C, channels / groups, kh, kw] -> [N, channels,
/// OH, OW].
Value conv_transpose2d(const Scope& scope, Value x, std::int64_t channels,
                       const ConvTranspose2dLayerOptions& options = {},
                       SourceLocation loc = SourceLocation::current());

}  // namespace weft

// Convolution layers for sequences and images.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/graph/functions/conv.h"
#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

// All layers declare "<scope>.weight" and, with bias, "<scope>.bias" [channels], in PyTorch's
// layouts. Weights are initialised uniformly in +-1/sqrt(n), as in PyTorch, where n is the number
// of elements of x that contribute to one element of the result. Biases start at 0. x is f32 or f64
// with a known number of channels. The layers throw GraphError if x belongs to another graph,
// DTypeError or ShapeError if x has an unsupported dtype or shape, and ArgumentError for invalid
// channels or groups; errors name the caller's source line. For costs, see functions/conv.h: time
// is proportional to (elements of the result) * C / groups * kernel, and x is kept for gradients.

struct Conv1dLayerOptions {
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  Padding1d padding = 0;  // or same_padding
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  std::optional<Initializer> initializer = {};  // of the weight
};
/// 1-D convolution of x [N, C, L] by weight [channels, C / groups, kernel] -> [N, channels, OL].
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
/// 2-D convolution of x [N, C, H, W] by weight [channels, C / groups, kh, kw] -> [N, channels, OH,
/// OW].
Value conv2d(const Scope& scope, Value x, std::int64_t channels,
             const Conv2dLayerOptions& options = {},
             SourceLocation loc = SourceLocation::current());

struct ConvTranspose1dLayerOptions {
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  Padding1d padding = 0;  // or same_padding: the result has L * stride elements
  std::int64_t output_padding = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  std::optional<Initializer> initializer = {};
};
/// Transposed 1-D convolution of x [N, C, L] by weight [C, channels / groups, kernel] -> [N,
/// channels, OL].
Value conv_transpose1d(const Scope& scope, Value x, std::int64_t channels,
                       const ConvTranspose1dLayerOptions& options = {},
                       SourceLocation loc = SourceLocation::current());

struct ConvTranspose2dLayerOptions {
  Size2d kernel = {3, 3};
  Size2d stride = {1, 1};
  Padding2d padding = {0, 0};  // or same_padding: the result is H * stride x W * stride
  Size2d output_padding = {0, 0};
  Size2d dilation = {1, 1};
  std::int64_t groups = 1;
  bool bias = true;
  std::optional<Initializer> initializer = {};
};
/// Transposed 2-D convolution of x [N, C, H, W] by weight [C, channels / groups, kh, kw] -> [N,
/// channels, OH, OW].
Value conv_transpose2d(const Scope& scope, Value x, std::int64_t channels,
                       const ConvTranspose2dLayerOptions& options = {},
                       SourceLocation loc = SourceLocation::current());

}  // namespace weft

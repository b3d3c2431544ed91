// Convolution and pooling over images and sequences.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

// All functions accept f32 or f64 and are differentiable, including second-order gradients. Output
// sizes are floor((size + 2 padding - dilation (kernel - 1) - 1) / stride) + 1. ShapeError is
// thrown if a window is larger than the padded input. Kernel sizes are constant; the sizes of x may
// be symbolic.
//
// A convolution costs 2 N O OH OW (C / groups) kh kw floating-point operations. The gradients with
// respect to x and to the weight have the same cost each, and require that x and the weight are
// kept. Patches are gathered tile by tile into per-worker scratch memory; the im2col matrix is
// never materialised.

using Size2d = std::array<std::int64_t, 2>;  // height, width

/// `.padding = same_padding` pads with zeros so that output sizes are ceil(size / stride), as in
/// TensorFlow and Keras (and in PyTorch, which supports it only for stride 1). The total padding of
/// an axis is max((ceil(size / stride) - 1) stride + dilation (kernel - 1) + 1 - size, 0). Half of
/// it, rounded down, is placed before the data and the rest after it. Sizes may be symbolic. If the
/// two sides differ, or if the size is symbolic and stride is not 1, a padded copy of x is made
/// first.
struct SamePadding {};
inline constexpr SamePadding same_padding;

/// Padding of one axis: the number of elements on each side, or same_padding.
class Padding1d {
 public:
  Padding1d(std::integral auto both_sides) : both_sides_(both_sides) {}  // NOLINT
  Padding1d(SamePadding) : same_(true) {}                                // NOLINT
  bool same() const { return same_; }
  std::int64_t both_sides() const { return both_sides_; }

 private:
  std::int64_t both_sides_ = 0;
  bool same_ = false;
};

/// Padding of height and width: the numbers of elements on each side, `.padding = {1, 1}`, or
/// same_padding.
class Padding2d {
 public:
  Padding2d(std::int64_t height, std::int64_t width) : both_sides_{height, width} {}
  Padding2d(const Size2d& both_sides) : both_sides_(both_sides) {}  // NOLINT
  Padding2d(SamePadding) : same_(true) {}                           // NOLINT
  bool same() const { return same_; }
  const Size2d& both_sides() const { return both_sides_; }

 private:
  Size2d both_sides_ = {0, 0};
  bool same_ = false;
};

struct Conv1dOptions {
  std::int64_t stride = 1;
  Padding1d padding = 0;  // zeros on each side
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
};
/// 1-D convolution without flipping the kernel (cross-correlation): x [N, C, L], weight
/// [O, C / groups, k], optional bias [O] -> [N, O, OL].
Value conv1d(Arg x, Arg weight, OptionalArg bias = {}, const Conv1dOptions& options = {});

struct Conv2dOptions {
  Size2d stride = {1, 1};
  Padding2d padding = {0, 0};
  Size2d dilation = {1, 1};
  std::int64_t groups = 1;
};
/// 2-D convolution (cross-correlation): x [N, C, H, W], weight [O, C / groups, kh, kw], optional
/// bias [O] -> [N, O, OH, OW].
Value conv2d(Arg x, Arg weight, OptionalArg bias = {}, const Conv2dOptions& options = {});

struct ConvTranspose1dOptions {
  std::int64_t stride = 1;
  /// Number of output elements that are removed on each side.
  Padding1d padding = 0;
  /// Number of output elements that are added at the end; less than stride, and 0 with
  /// same_padding.
  std::int64_t output_padding = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
};
/// 1-D transposed convolution ("deconvolution"), the adjoint of conv1d with respect to its x: x [N,
/// C, L], weight [C, O / groups, k], optional bias [O] -> [N, O, OL] with OL = (L - 1) stride - 2
/// padding + dilation (k - 1) + output_padding + 1, or OL = L stride with same_padding. The weight
/// layout and the sizes match PyTorch's ConvTranspose1d. Costs 2 N C L (O / groups) k
/// floating-point operations, the same number as the convolution whose adjoint it is.
Value conv_transpose1d(Arg x, Arg weight, OptionalArg bias = {},
                       const ConvTranspose1dOptions& options = {});

struct ConvTranspose2dOptions {
  Size2d stride = {1, 1};
  Padding2d padding = {0, 0};
  Size2d output_padding = {0, 0};
  Size2d dilation = {1, 1};
  std::int64_t groups = 1;
};
/// 2-D transposed convolution: x [N, C, H, W], weight [C, O / groups, kh, kw], optional bias [O].
/// Throws ArgumentError unless output_padding is in [0, stride), and ShapeError if the padding
/// removes the whole output.
Value conv_transpose2d(Arg x, Arg weight, OptionalArg bias = {},
                       const ConvTranspose2dOptions& options = {});

struct Pool1dOptions {
  std::int64_t kernel = 1;
  std::optional<std::int64_t> stride = {};  // the kernel size by default
  Padding1d padding = 0;                    // at most half the kernel size
};
struct Pool2dOptions {
  Size2d kernel = {1, 1};
  std::optional<Size2d> stride = {};
  Padding2d padding = {0, 0};
};
/// 1-D max pooling: the largest element of each window of x [N, C, L]. Padding counts as -inf. Only
/// the first maximum of each window receives the gradient; its index (i64) is kept for the backward
/// pass. Pooling costs one operation per element of each window.
Value max_pool1d(Arg x, const Pool1dOptions& options);
/// 2-D max pooling over x [N, C, H, W]; otherwise like max_pool1d().
Value max_pool2d(Arg x, const Pool2dOptions& options);
/// 1-D average pooling: the mean of each window of x [N, C, L]. Padding elements count as zeros in
/// the mean, except with same_padding, where they are excluded (as in TensorFlow). No values are
/// kept for the gradient.
Value avg_pool1d(Arg x, const Pool1dOptions& options);
/// 2-D average pooling over x [N, C, H, W]; otherwise like avg_pool1d().
Value avg_pool2d(Arg x, const Pool2dOptions& options);

/// Mean over all spatial axes: x [N, C, ...] -> [N, C].
Value global_avg_pool(Arg x);
/// Maximum over all spatial axes: x [N, C, ...] -> [N, C].
Value global_max_pool(Arg x);
/// Adaptive average pooling: means of x [N, C, H, W] over size[0] x size[1] windows that cover the
/// image. Window i of n begins at floor(i H / n) and ends before ceil((i + 1) H / n) (PyTorch:
/// AdaptiveAvgPool2d). H and W must be constant unless the corresponding element of `size` is 1.
Value adaptive_avg_pool2d(Arg x, const Size2d& size);

}  // namespace weft

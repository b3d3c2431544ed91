// Convolutions and pools over images and sequences.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

// All take f32 or f64 and are differentiable, to second order too. Output sizes are floor((size + 2
// padding - dilation (kernel - 1) - 1) / stride) + 1; a window that does not fit is a ShapeError.
// The sizes of kernels are constant, those of x may be symbolic.
//
// A convolution costs 2 floating-point operations per element of the result and of the weight of
// its output channel: 2 N O OH OW (C / groups) kh kw; of the gradients, that of x costs as much,
// and that of the weight, too. They keep x and the weight. Patches are gathered tile by tile into
// scratch of each worker, and never stored as a whole.

using Size2d = std::array<std::int64_t, 2>;  // height, width

/// `.padding = same_padding`: so many zeros that output sizes are ceil(size / stride), as
/// TensorFlow and Keras have it (and PyTorch, which knows it for stride 1): max((ceil(size /
/// stride) - 1) stride + dilation (kernel - 1) + 1 - size, 0) of them, half of which, rounded down,
/// stand in front. Sizes may be symbolic. Where both sides do not get equally many, or the size is
/// symbolic and stride is not 1, x is copied with its padding first.
struct SamePadding {};
inline constexpr SamePadding same_padding;

/// Padding of one axis: elements on both sides, or same_padding.
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

/// Padding of height and width: `.padding = {1, 1}`, elements on both sides, or same_padding.
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
  Padding1d padding = 0;  // zeros on both sides
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
};
/// Cross-correlation of x [N, C, L] with weight [O, C / groups, k] -> [N, O, OL]; bias [O] may be
/// absent.
Value conv1d(Arg x, Arg weight, OptionalArg bias = {}, const Conv1dOptions& options = {});

struct Conv2dOptions {
  Size2d stride = {1, 1};
  Padding2d padding = {0, 0};
  Size2d dilation = {1, 1};
  std::int64_t groups = 1;
};
/// Cross-correlation of x [N, C, H, W] with weight [O, C / groups, kh, kw] -> [N, O, OH, OW].
Value conv2d(Arg x, Arg weight, OptionalArg bias = {}, const Conv2dOptions& options = {});

struct ConvTranspose1dOptions {
  std::int64_t stride = 1;
  Padding1d padding = 0;            // cut off on both sides
  std::int64_t output_padding = 0;  // more at the end, less than stride; 0 with same_padding
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
};
/// The adjoint of conv1d in its x ("deconvolution"): x [N, C, L], weight [C, O / groups, k] -> [N,
/// O, OL] with OL = (L - 1) stride - 2 padding + dilation (k - 1) + output_padding + 1, or L stride
/// with same_padding. Layout and sizes are those of PyTorch's ConvTranspose1d. 2 N C L (O / groups)
/// k floating-point operations: those of the convolution that it is the adjoint of.
Value conv_transpose1d(Arg x, Arg weight, OptionalArg bias = {},
                       const ConvTranspose1dOptions& options = {});

struct ConvTranspose2dOptions {
  Size2d stride = {1, 1};
  Padding2d padding = {0, 0};
  Size2d output_padding = {0, 0};
  Size2d dilation = {1, 1};
  std::int64_t groups = 1;
};
/// The same for x [N, C, H, W] and weight [C, O / groups, kh, kw]. Throws ArgumentError for an
/// output_padding that is not in [0, stride), ShapeError where the padding cuts off everything.
Value conv_transpose2d(Arg x, Arg weight, OptionalArg bias = {},
                       const ConvTranspose2dOptions& options = {});

struct Pool1dOptions {
  std::int64_t kernel = 1;
  std::optional<std::int64_t> stride = {};  // by default the kernel
  Padding1d padding = 0;                    // at most half the kernel
};
struct Pool2dOptions {
  Size2d kernel = {1, 1};
  std::optional<Size2d> stride = {};
  Padding2d padding = {0, 0};
};
/// Largest element of each window of x [N, C, L]; padding counts as -inf. The gradient goes to the
/// first maximum, whose place (i64) is kept for it. Pools cost an operation per element of each
/// window.
Value max_pool1d(Arg x, const Pool1dOptions& options);
/// The same for x [N, C, H, W].
Value max_pool2d(Arg x, const Pool2dOptions& options);
/// Mean of each window of x [N, C, L]; padding counts as zeros in the mean, except that of
/// same_padding, which does not count at all (as in TensorFlow). Nothing is kept for the gradient.
Value avg_pool1d(Arg x, const Pool1dOptions& options);
/// The same for x [N, C, H, W].
Value avg_pool2d(Arg x, const Pool2dOptions& options);

/// Mean over everything behind the channels of x [N, C, ...] -> [N, C].
Value global_avg_pool(Arg x);
/// Maximum over the same.
Value global_max_pool(Arg x);
/// Means of x [N, C, H, W] over size[0] x size[1] windows that cover the image: window i of n
/// begins at floor(i H / n) and ends before ceil((i + 1) H / n) (PyTorch's AdaptiveAvgPool2d). H
/// and W are constant, except where size is 1 there.
Value adaptive_avg_pool2d(Arg x, const Size2d& size);

}  // namespace weft

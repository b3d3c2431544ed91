// Convolutions and pools over images and sequences.
#pragma once

#include <array>
#include <optional>

#include "weft/graph/functions/arg.h"

namespace weft {

// All take f32 or f64 and are differentiable, to second order too. Output sizes are floor((size + 2
// padding - dilation (kernel - 1) - 1) / stride) + 1; a window that does not fit is a ShapeError.

using Size2d = std::array<std::int64_t, 2>;  // height, width

struct Conv1dOptions {
  std::int64_t stride = 1;
  std::int64_t padding = 0;  // zeros on both sides
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
};
/// Cross-correlation of x [N, C, L] with weight [O, C / groups, k] -> [N, O, OL]; bias [O] may be
/// absent.
Value conv1d(Arg x, Arg weight, OptionalArg bias = {}, const Conv1dOptions& options = {});

struct Conv2dOptions {
  Size2d stride = {1, 1};
  Size2d padding = {0, 0};
  Size2d dilation = {1, 1};
  std::int64_t groups = 1;
};
/// Cross-correlation of x [N, C, H, W] with weight [O, C / groups, kh, kw] -> [N, O, OH, OW].
Value conv2d(Arg x, Arg weight, OptionalArg bias = {}, const Conv2dOptions& options = {});

struct Pool1dOptions {
  std::int64_t kernel = 1;
  std::optional<std::int64_t> stride = {};  // by default the kernel
  std::int64_t padding = 0;                 // at most half the kernel
};
struct Pool2dOptions {
  Size2d kernel = {1, 1};
  std::optional<Size2d> stride = {};
  Size2d padding = {0, 0};
};
/// Largest element of each window of x [N, C, L]; padding counts as -inf. The gradient goes to the
/// first maximum.
Value max_pool1d(Arg x, const Pool1dOptions& options);
/// The same for x [N, C, H, W].
Value max_pool2d(Arg x, const Pool2dOptions& options);
/// Mean of each window of x [N, C, L]; padding counts as zeros in the mean.
Value avg_pool1d(Arg x, const Pool1dOptions& options);
/// The same for x [N, C, H, W].
Value avg_pool2d(Arg x, const Pool2dOptions& options);

}  // namespace weft

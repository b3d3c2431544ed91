// Reductions over any axes (sum, mean, max, ...) and cumulative sums.
#pragma once

#include "weft/graph/functions/axes.h"

namespace WEFT_API weft {

// x is f32, f64 or, if noted, an integer dtype; the result has the dtype of x. With keepdims the
// reduced axes are kept with size 1. All functions are differentiable except argmax, argmin, any
// and all. They are O(elements of x), and the order in which partial results are combined depends
// only on the sizes.

/// Sum over the axes; 0 for an empty range. Also accepts integers.
Value sum(Arg x, const Axes& axes = {}, bool keepdims = false);
/// Mean over the axes; NaN for an empty range.
Value mean(Arg x, const Axes& axes = {}, bool keepdims = false);
/// Largest element over the axes; NaN if any element is NaN. Also accepts integers. Throws
/// ShapeError for an empty range. The gradient is divided equally among equal maxima.
Value max(Arg x, const Axes& axes = {}, bool keepdims = false);
/// Smallest element over the axes; otherwise like max().
Value min(Arg x, const Axes& axes = {}, bool keepdims = false);
/// Product over the axes; 1 for an empty range. Also accepts integers. The gradient is correct even
/// if elements are zero.
Value prod(Arg x, const Axes& axes = {}, bool keepdims = false);
/// ln(sum(exp(x))) over the axes, without overflow. If all elements are -inf, the result is -inf
/// with gradient 0.
Value logsumexp(Arg x, const Axes& axes = {}, bool keepdims = false);

/// Index (i64) of the first largest element along an axis, or in the flattened x if `axis` is
/// nullopt.
Value argmax(Arg x, std::optional<int> axis = std::nullopt, bool keepdims = false);
/// Index (i64) of the first smallest element along an axis, or in the flattened x if `axis` is
/// nullopt.
Value argmin(Arg x, std::optional<int> axis = std::nullopt, bool keepdims = false);

/// Logical or of bool x over the axes: true if any element is true.
Value any(Arg x, const Axes& axes = {}, bool keepdims = false);
/// Logical and of bool x over the axes: true if all elements are true.
Value all(Arg x, const Axes& axes = {}, bool keepdims = false);

struct CumsumOptions {
  bool exclusive = false;  // exclude the element itself from its sum
  bool reverse = false;    // sum from the last element
};
/// Cumulative sum along an axis. Also accepts integers.
Value cumsum(Arg x, int axis, const CumsumOptions& options = {});

struct VarOptions {
  double correction = 1;  // the sum of squares is divided by n - correction
  bool keepdims = false;
};
/// Variance over the axes: sum((x - mean)^2) / (n - correction).
Value var(Arg x, const Axes& axes = {}, const VarOptions& options = {});
/// Standard deviation, the square root of var(). Its gradient is not finite if the variance is 0.
Value stddev(Arg x, const Axes& axes = {}, const VarOptions& options = {});
/// Euclidean norm sqrt(sum(x^2)). The gradient at 0 is defined as 0.
Value norm(Arg x, const Axes& axes = {}, bool keepdims = false);

/// Sums `value` over the axes along which `shape` was broadcast to the shape of `value`. This is
/// the gradient of broadcasting.
Value sum_to(Value value, const Shape& shape);

}  // namespace weft

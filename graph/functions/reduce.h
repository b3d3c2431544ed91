// Reductions: sum, mean, max, ... over any axes, and running sums.
#pragma once

#include "weft/graph/functions/axes.h"

namespace WEFT_API weft {

// x is f32, f64 or, where noted, of an integer dtype; the result has x's dtype. With keepdims the
// reduced axes stay, with size 1. All are differentiable except argmax, argmin, any and all.
// O(elements of x), partial results combined in an order that follows from sizes alone.

/// Sum over the axes (integers too); 0 for an empty range.
Value sum(Arg x, const Axes& axes = {}, bool keepdims = false);
/// Mean over the axes; NaN for an empty range.
Value mean(Arg x, const Axes& axes = {}, bool keepdims = false);
/// Largest element (integers too); NaN where there is one. An empty range is a ShapeError. Elements
/// that tie share the gradient equally.
Value max(Arg x, const Axes& axes = {}, bool keepdims = false);
/// Smallest element; as max().
Value min(Arg x, const Axes& axes = {}, bool keepdims = false);
/// Product (integers too); 1 for an empty range. Its gradient is right where elements are zero.
Value prod(Arg x, const Axes& axes = {}, bool keepdims = false);
/// ln(sum(exp(x))) without overflow; -inf where all elements are -inf (their gradient is 0).
Value logsumexp(Arg x, const Axes& axes = {}, bool keepdims = false);

/// Position (i64) of the first largest element along an axis; nullopt: in the flattened x.
Value argmax(Arg x, std::optional<int> axis = std::nullopt, bool keepdims = false);
/// Position (i64) of the first smallest element along an axis; nullopt: in the flattened x.
Value argmin(Arg x, std::optional<int> axis = std::nullopt, bool keepdims = false);

/// Whether some element of the bool x is true.
Value any(Arg x, const Axes& axes = {}, bool keepdims = false);
/// Whether every element of the bool x is true.
Value all(Arg x, const Axes& axes = {}, bool keepdims = false);

struct CumsumOptions {
  bool exclusive = false;  // leave the element itself out
  bool reverse = false;    // from the last element on
};
/// Running sum along an axis (integers too).
Value cumsum(Arg x, int axis, const CumsumOptions& options = {});

struct VarOptions {
  double correction = 1;  // the sum of squares is divided by n - correction
  bool keepdims = false;
};
/// Variance over the axes: sum((x - mean)^2) / (n - correction).
Value var(Arg x, const Axes& axes = {}, const VarOptions& options = {});
/// Square root of var(). Its gradient is not finite where the variance is 0.
Value stddev(Arg x, const Axes& axes = {}, const VarOptions& options = {});
/// Euclidean norm sqrt(sum(x^2)); its gradient at 0 is taken as 0.
Value norm(Arg x, const Axes& axes = {}, bool keepdims = false);

/// Sums `value` over the axes along which `shape` was broadcast to it: what a gradient needs.
Value sum_to(Value value, const Shape& shape);

}  // namespace weft

// Pooling over windows and global pooling.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/conv.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/functions/windows.h"

namespace weft {
namespace {

Value apply_pool(std::string_view op, Value x, const Pool2dOptions& o, const Size2d& both_sides,
                 SourceLocation loc) {
  return x.graph()
      .apply(op, {x},
             {{"kernel", windows::integers(o.kernel)},
              {"stride", windows::integers(o.stride.value_or(o.kernel))},
              {"padding", windows::integers(both_sides)}},
             loc)
      .output(0);
}

Value max_pool(Value x, const Pool2dOptions& o, SourceLocation loc) {
  const windows::Padded padded =
      windows::pad_windows(x, o.padding, o.kernel, o.stride.value_or(o.kernel),
                           -std::numeric_limits<double>::infinity(), loc);
  return apply_pool("max_pool2d", padded.x, o, padded.both_sides, loc);
}

Value avg_pool(Value x, const Pool2dOptions& o, SourceLocation loc) {
  const auto pooled = [&](const windows::Padded& of) {
    return apply_pool("avg_pool2d", of.x, o, of.both_sides, loc);
  };
  const auto padded = [&](Value v) {
    return windows::pad_windows(v, o.padding, o.kernel, o.stride.value_or(o.kernel), 0, loc);
  };
  const windows::Padded image = padded(x);
  if (!o.padding.same() || !image.changed) return pooled(image);
  // Average pooling of a tensor of ones gives the fraction of each window that is inside the image.
  const Shape plane{Dim(1), Dim(1), x.shape()[2], x.shape()[3]};
  return pooled(image) / pooled(padded(ones(x.graph(), x.dtype(), plane, loc)));
}

using PoolFunction = Value (*)(Value, const Pool2dOptions&, SourceLocation);

Value pool1d(std::string_view function, PoolFunction pool, const Arg& x, const Pool1dOptions& o) {
  const Value v = x.value(function);
  windows::require_rank(v, 3, "x [N, C, L]", function, x.location());
  const Graph::Frame frame(v.graph(), function, x.location());
  const Pool2dOptions options{.kernel = {1, o.kernel},
                              .stride = Size2d{1, o.stride.value_or(o.kernel)},
                              .padding = windows::as_image(o.padding)};
  return windows::as_sequence(pool(windows::as_image(v), options, x.location()));
}

Value pool2d(std::string_view function, PoolFunction pool, const Arg& x, const Pool2dOptions& o) {
  const Value v = x.value(function);
  if (!o.padding.same()) return pool(v, o, x.location());
  const Graph::Frame frame(v.graph(), function, x.location());
  return pool(v, o, x.location());
}

// Returns the spatial axes of x [N, C, ...]. Throws ShapeError if there are none.
std::vector<int> spatial_axes(std::string_view function, Value x, SourceLocation loc) {
  if (x.rank() < 3) {
    x.graph().fail(ShapeError(fmt::format("x must be [N, C, ...] with a spatial axis, but is {}",
                                          x.type().str())),
                   function, {x}, loc);
  }
  std::vector<int> axes;
  for (int axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
  return axes;
}

// Element indices of `count` windows that cover an axis of `size` elements. The windows may differ
// in length, so shorter windows are padded to the longest length.
struct WindowIndices {
  // Indices of the elements, i64 [count, longest]; false for padding, bool [count, longest];
  // lengths of the windows, i64 [count, 1].
  Tensor indices, is_valid, lengths;
};
WindowIndices window_indices(std::int64_t count, std::int64_t size) {
  const auto begin = [&](std::int64_t i) { return i * size / count; };
  const auto length = [&](std::int64_t i) {
    return ((i + 1) * size + count - 1) / count - begin(i);
  };
  // If count does not divide size, window boundaries may fall inside an element, which then belongs
  // to both neighbours.
  const std::int64_t rest = size % count;
  const std::int64_t longest = size / count + (rest > std::gcd(rest, count) ? 2 : 1);
  WindowIndices c{Tensor::empty(DType::i64, {count, longest}),
                  Tensor::empty(DType::boolean, {count, longest}),
                  Tensor::empty(DType::i64, {count, 1})};
  for (std::int64_t i = 0; i < count; ++i) {
    c.lengths.mutable_data<std::int64_t>()[i] = length(i);
    for (std::int64_t k = 0; k < longest; ++k) {
      const std::int64_t at = i * longest + k;
      c.indices.mutable_data<std::int64_t>()[at] = begin(i) + std::min(k, length(i) - 1);
      c.is_valid.mutable_data<bool>()[at] = k < length(i);
    }
  }
  return c;
}

// Returns the means over `count` windows along an axis. (A product with a weight matrix would
// spread infinities and NaNs to windows that do not contain them, and would round like a matrix
// product.)
Value window_means(Value x, int axis, std::int64_t count, SourceLocation loc) {
  Graph& graph = x.graph();
  const std::int64_t size = x.shape()[axis].constant();
  if (size % count == 0) {
    std::vector<Dim> dims = x.shape().dims();
    dims[static_cast<std::size_t>(axis)] = size / count;
    dims.insert(dims.begin() + axis, Dim(count));
    return mean(reshape(x, Shape(std::move(dims))), axis + 1);
  }
  const WindowIndices windows = window_indices(count, size);
  // Reshapes [count, n] so that it broadcasts against the axes starting at `axis`.
  const auto along = [&](const Tensor& t) {
    Shape shape(t.sizes());
    while (shape.rank() < x.rank() + 1 - axis) shape.push_back(1);
    return reshape(graph.constant(t, loc), shape);
  };
  const Value seen = take(x, graph.constant(windows.indices, loc), axis);
  const Value sums = sum(where(along(windows.is_valid), seen, 0), axis + 1, true);
  const Value means = sums / cast(along(windows.lengths), x.dtype());
  return squeeze(means, axis + 1);
}

}  // namespace

Value max_pool1d(Arg x, const Pool1dOptions& options) {
  return pool1d("max_pool1d", max_pool, x, options);
}
Value max_pool2d(Arg x, const Pool2dOptions& options) {
  return pool2d("max_pool2d", max_pool, x, options);
}
Value avg_pool1d(Arg x, const Pool1dOptions& options) {
  return pool1d("avg_pool1d", avg_pool, x, options);
}
Value avg_pool2d(Arg x, const Pool2dOptions& options) {
  return pool2d("avg_pool2d", avg_pool, x, options);
}

Value global_avg_pool(Arg x) {
  const Value v = x.value("global_avg_pool");
  return mean(x, spatial_axes("global_avg_pool", v, x.location()));
}

Value global_max_pool(Arg x) {
  const Value v = x.value("global_max_pool");
  return max(x, spatial_axes("global_max_pool", v, x.location()));
}

Value adaptive_avg_pool2d(Arg x, const Size2d& size) {
  constexpr std::string_view kName = "adaptive_avg_pool2d";
  Value v = x.value(kName);
  windows::require_rank(v, 4, "x [N, C, H, W]", kName, x.location());
  const Graph::Frame frame(v.graph(), kName, x.location());
  for (int i = 0; i < 2; ++i) {
    const Dim& all = v.shape()[i + 2];
    const std::int64_t count = size[static_cast<std::size_t>(i)];
    if (count < 1 || (count > 1 && (!all.is_constant() || all.constant() < 1))) {
      v.graph().fail(
          count < 1 ? Error(ArgumentError(
                          fmt::format("size must be at least 1, but is {} x {}", size[0], size[1])))
                    : Error(ShapeError(fmt::format(
                          "{} must be constant and at least 1 to be divided into {} windows, but "
                          "is {}",
                          i == 0 ? "height" : "width", count, all.str()))),
          kName, {v}, x.location());
    }
    if (count == 1) {
      v = mean(v, i + 2, true);
    } else if (count != all.constant()) {
      v = window_means(v, i + 2, count, x.location());
    }
  }
  return v;
}

}  // namespace weft

// Pools over windows and over everything.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/conv.h"
#include "weft/graph/functions/linalg.h"
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
  // The mean of ones is the share of a window that is image.
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

// The spatial axes of x [N, C, ...].
std::vector<int> behind_channels(std::string_view function, Value x, SourceLocation loc) {
  if (x.rank() < 3) {
    x.graph().fail(ShapeError(fmt::format("x must be [N, C, ...] with a spatial axis, but is {}",
                                          x.type().str())),
                   function, {x}, loc);
  }
  std::vector<int> axes;
  for (int axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
  return axes;
}

// [windows, size]: row i is the mean of window i.
Tensor window_means(DType dtype, std::int64_t count, std::int64_t size) {
  Tensor means = Tensor::zeros(DType::f64, {count, size});
  double* row = means.mutable_data<double>();
  for (std::int64_t i = 0; i < count; ++i, row += size) {
    const std::int64_t begin = i * size / count, end = ((i + 1) * size + count - 1) / count;
    std::fill(row + begin, row + end, 1 / static_cast<double>(end - begin));
  }
  return means.to(dtype);
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
  return mean(x, behind_channels("global_avg_pool", v, x.location()));
}

Value global_max_pool(Arg x) {
  const Value v = x.value("global_max_pool");
  return max(x, behind_channels("global_max_pool", v, x.location()));
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
                          "{} must be constant and at least 1 to be cut into {} windows, but is {}",
                          i == 0 ? "height" : "width", count, all.str()))),
          kName, {v}, x.location());
    }
    if (count == 1) {
      v = mean(v, i + 2, true);
    } else if (count != all.constant()) {
      const Value means =
          v.graph().constant(window_means(v.dtype(), count, all.constant()), x.location());
      v = i == 0 ? matmul(means, v) : matmul(v, transpose(means));
    }
  }
  return v;
}

}  // namespace weft

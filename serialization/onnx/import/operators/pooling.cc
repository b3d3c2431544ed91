// Pooling.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/dims.h"
#include "weft/serialization/onnx/import/operators/numeric.h"
#include "weft/serialization/onnx/import/operators/rows.h"

namespace weft::onnx {
namespace {

// -- Windows --------------------------------------------------------------------------------------

/// The windows along one spatial axis.
struct PoolAxis {
  std::int64_t kernel = 1, stride = 1, dilation = 1;
  Dim before = 0, after = 0;  // padding
  Dim extra = 0;              // elements after the padding that the last window of ceil_mode reads
  Dim count = 0;              // number of windows
  std::int64_t span() const { return dilation * (kernel - 1) + 1; }
  bool pads() const { return before != Dim(0) || after != Dim(0) || extra != Dim(0); }
};

/// Sets the padding of SAME_UPPER and SAME_LOWER, which gives ceil(size / stride) windows.
void pad_same(PoolAxis& a, const Dim& size, bool upper) {
  a.count = floor_div(size + (a.stride - 1), Dim(a.stride));
  const Dim reach = (a.count - 1) * Dim(a.stride) + a.span();
  Dim total = reach - size;
  // Gaps between the windows may make the padding negative.
  if (a.span() < a.stride) total = max(total, Dim(0));
  const Dim smaller = floor_div(total, Dim(2));
  a.before = upper ? smaller : total - smaller;
  a.after = total - a.before;
}

/// Counts the windows of explicit padding.
void count_windows(NodeImport& n, PoolAxis& a, const Dim& size, bool ceil_mode) {
  const Dim room = size + a.before + a.after - a.span();
  a.count = floor_div(room, Dim(a.stride)) + 1;
  if (!ceil_mode || a.stride == 1) return;
  Dim count = floor_div(room + (a.stride - 1), Dim(a.stride)) + 1;
  // The last window must not begin in the padding at the end.
  const Dim last = (count - 1) * Dim(a.stride), end = size + a.before;
  if (last.is_constant() && end.is_constant()) {
    if (last.constant() >= end.constant()) count = count - 1;
  } else if (!Dim::provably_le(a.after + a.stride, a.span())) {
    n.unsupported(fmt::format("ceil_mode for an axis of size {}", size.str()));
  }
  const Dim reach = (count - 1) * Dim(a.stride) - room;
  a.extra = reach.is_constant() ? std::max<std::int64_t>(reach.constant(), 0) : reach;
  a.count = count;
}

/// Reads kernel_shape, strides, dilations and pads, and counts no windows.
std::vector<PoolAxis> read_windows(NodeImport& n, Value x) {
  const auto count = static_cast<std::size_t>(std::max(x.rank() - 2, 0));
  const auto list = [&](std::string_view name, std::size_t length, std::int64_t least) {
    const auto values = n.integers(name).value_or(Sizes(length, least));
    const bool valid = std::all_of(values.begin(), values.end(), [&](std::int64_t v) {
      return v >= least && v < std::int64_t{1} << 31;
    });
    if (values.size() != length || !valid) {
      throw FormatError(fmt::format("{} must be {} integers of at least {}, but is {}", name,
                                    length, least, to_string(values)));
    }
    return values;
  };
  if (!n.has_attribute("kernel_shape")) throw FormatError("kernel_shape is missing");
  const Sizes kernel = list("kernel_shape", count, 1), strides = list("strides", count, 1);
  const Sizes dilations = list("dilations", count, 1), pads = list("pads", 2 * count, 0);
  std::vector<PoolAxis> axes;
  for (std::size_t i = 0; i < count; ++i)
    axes.push_back({kernel[i], strides[i], dilations[i], pads[i], pads[count + i]});
  return axes;
}

std::vector<PoolAxis> pool_axes(NodeImport& n, Value x) {
  auto axes = read_windows(n, x);
  const std::string auto_pad = n.text("auto_pad", "NOTSET");
  const bool ceil_mode = n.flag("ceil_mode"), upper = auto_pad == "SAME_UPPER";
  if (auto_pad != "NOTSET" && auto_pad != "VALID" && !upper && auto_pad != "SAME_LOWER")
    n.unsupported(fmt::format("auto_pad '{}'", auto_pad));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    PoolAxis& a = axes[i];
    const Dim& size = x.shape()[static_cast<int>(i) + 2];
    if (auto_pad == "VALID") a.before = a.after = 0;
    if (upper || auto_pad == "SAME_LOWER") {
      pad_same(a, size, upper);
    } else {
      count_windows(n, a, size, ceil_mode);
    }
    if (a.count.is_constant() && a.count.constant() < 1) {
      throw FormatError(fmt::format("a window of {} elements is larger than axis {} of {}",
                                    a.span(), i + 2, x.type().str()));
    }
  }
  return axes;
}

Value pad_windows(Value x, const std::vector<PoolAxis>& axes, double value) {
  std::vector<std::pair<Dim, Dim>> pads(2, {Dim(0), Dim(0)});
  for (const PoolAxis& a : axes) pads.emplace_back(a.before, a.after + a.extra);
  return pad(x, pads, {.value = value});
}

// -- Pooling of padded tensors --------------------------------------------------------------------

/// max_pool2d or avg_pool2d of x as planes [planes, 1, height, width].
Node& pool_planes(std::string_view op, Value x, const Sizes& kernel, const Sizes& stride,
                  const Sizes& padding) {
  return x.graph().apply(op, {x}, {{"kernel", kernel}, {"stride", stride}, {"padding", padding}});
}

Shape with_size(Shape shape, int axis, const Dim& size) {
  shape[axis] = size;
  return shape;
}

/// The results of pooling along one axis.
struct AxisPool {
  Value values;
  Value places;  // i64: the position of each maximum along the axis, for max_pool2d
};

AxisPool pool_axis(std::string_view op, Value x, int axis, const PoolAxis& a) {
  const Shape shape = x.shape();
  if (a.dilation > 1) {
    // Elements that are `dilation` apart are neighbours in the rows of [size / dilation, dilation].
    const Dim rows = floor_div(shape[axis] + (a.dilation - 1), Dim(a.dilation));
    std::vector<std::pair<Dim, Dim>> pads(static_cast<std::size_t>(x.rank()), {Dim(0), Dim(0)});
    pads[static_cast<std::size_t>(axis)].second = rows * Dim(a.dilation) - shape[axis];
    x = pad(x, pads, {.value = op == "max_pool2d" ? -std::numeric_limits<double>::infinity() : 0});
  }
  const Dim outer = size_product(shape, 0, axis);
  const Dim inner = size_product(shape, axis + 1, shape.rank());
  const bool last = axis == shape.rank() - 1 && a.dilation == 1;
  const Dim rows = floor_div(x.shape()[axis], Dim(a.dilation));
  const Shape planes =
      last ? Shape{outer, 1, 1, rows} : Shape{outer, 1, rows, inner * Dim(a.dilation)};
  const std::int64_t step = a.dilation == 1 ? a.stride : 1;
  Node& pooled = pool_planes(op, reshape(x, planes), last ? Sizes{1, a.kernel} : Sizes{a.kernel, 1},
                             last ? Sizes{1, step} : Sizes{step, 1}, {0, 0});
  const auto along = [&](Value v) {
    const Dim all = a.dilation == 1 ? v.size(last ? 3 : 2) : v.size(2) * Dim(a.dilation);
    v = reshape(v, with_size(shape, axis, all));
    if (a.dilation == 1) return v;
    return slice(v, axis, {0, (a.count - 1) * Dim(a.stride) + 1, a.stride});
  };
  AxisPool out{along(pooled.output(0)), {}};
  if (pooled.output_count() > 1)
    out.places = along(div(pooled.output(1), dim_value(x.graph(), inner)));
  return out;
}

/// Pools the spatial axes of a padded x: at most the last two in one pass.
Value pool_padded(std::string_view op, Value x, std::vector<PoolAxis> axes,
                  const Sizes& padding = {0, 0}) {
  const std::size_t count = axes.size();
  if (count >= 2 && axes[count - 1].dilation == 1 && axes[count - 2].dilation == 1) {
    const PoolAxis &h = axes[count - 2], &w = axes[count - 1];
    const int rank = x.rank();
    const Value planes =
        reshape(x, Shape{size_product(x.shape(), 0, rank - 2), 1, x.size(-2), x.size(-1)});
    const Value pooled =
        pool_planes(op, planes, {h.kernel, w.kernel}, {h.stride, w.stride}, padding).output(0);
    x = reshape(pooled, with_size(with_size(x.shape(), rank - 2, pooled.size(2)), rank - 1,
                                  pooled.size(3)));
    axes.resize(count - 2);
  }
  for (std::size_t i = axes.size(); i-- > 0;)
    x = pool_axis(op, x, static_cast<int>(i) + 2, axes[i]).values;
  return x;
}

/// Returns the padding that max_pool2d and avg_pool2d can apply without a copy, if there is one:
/// two axes with equal padding on both sides of each.
std::optional<Sizes> kernel_padding(const std::vector<PoolAxis>& axes) {
  Sizes padding;
  for (const PoolAxis& a : axes) {
    if (axes.size() != 2 || a.dilation != 1 || !a.before.is_constant() || a.before != a.after ||
        a.extra != Dim(0) || 2 * a.before.constant() > a.kernel) {
      return std::nullopt;
    }
    padding.push_back(a.before.constant());
  }
  return padding;
}

bool any_pads(const std::vector<PoolAxis>& axes) {
  return std::any_of(axes.begin(), axes.end(), [](const PoolAxis& a) { return a.pads(); });
}

Value pool_all(std::string_view op, Value x, const std::vector<PoolAxis>& axes, double value) {
  if (!any_pads(axes)) return pool_padded(op, x, axes);
  if (const auto padding = kernel_padding(axes)) return pool_padded(op, x, axes, *padding);
  return pool_padded(op, pad_windows(x, axes, value), axes);
}

// -- Operators ------------------------------------------------------------------------------------

/// Returns x as f32 or f64. The maximum of integers and narrow floats is exact in f32.
Value poolable(NodeImport& n, Value x) {
  if (x.rank() < 3) n.unsupported(fmt::format("the operand {}", x.type().str()));
  if (x.dtype() == DType::i8 || x.dtype() == DType::u8) return cast(x, DType::f32);
  return widened(x);
}

/// Pools axis after axis and follows the numbers of the elements.
std::vector<ImportedValue> max_pool_with_indices(NodeImport& n, Value x,
                                                 const std::vector<PoolAxis>& axes,
                                                 bool column_major) {
  Graph& graph = n.graph();
  const Shape shape = x.shape();
  const int rank = shape.rank();
  Value index = graph.scalar(DType::i64, 0);
  for (int axis = 0; axis < rank; ++axis) {
    const Dim stride = column_major && axis >= 2 ? size_product(shape, 2, axis)
                                                 : size_product(shape, axis + 1, rank);
    index = add(index, mul(iota(graph, shape, axis), dim_value(graph, stride)));
  }
  x = pad_windows(x, axes, -std::numeric_limits<double>::infinity());
  for (int axis = rank - 1; axis >= 2; --axis) {
    const PoolAxis& a = axes[static_cast<std::size_t>(axis - 2)];
    const AxisPool pooled = pool_axis("max_pool2d", x, axis, a);
    x = pooled.values;
    // A window of padding and -inf has its maximum in the padding.
    const Value place = maximum(
        minimum(sub(pooled.places, dim_value(graph, a.before)), dim_value(graph, shape[axis] - 1)),
        0);
    const auto inside = [&](Value v) {
      std::vector<weft::Slice> kept(static_cast<std::size_t>(rank));
      for (int i = 2; i < axis; ++i) {
        const PoolAxis& other = axes[static_cast<std::size_t>(i - 2)];
        kept[static_cast<std::size_t>(i)] = {other.before, other.before + shape[i], 1};
      }
      return slice(v, kept);
    };
    index = take_along_axis(index, inside(place), axis);
  }
  return {x, index};
}

std::vector<ImportedValue> max_pool(NodeImport& n) {
  const Value given = n.input(0), x = poolable(n, given);
  const auto axes = pool_axes(n, x);
  const bool column_major = n.flag("storage_order");
  constexpr double kLowest = -std::numeric_limits<double>::infinity();
  if (!n.wants(1)) return {cast(pool_all("max_pool2d", x, axes, kLowest), given.dtype())};
  const auto pooled = max_pool_with_indices(n, x, axes, column_major);
  return {cast(pooled[0].tensor, given.dtype()), pooled[1]};
}

std::vector<ImportedValue> average_pool(NodeImport& n) {
  const Value given = n.input(0), x = poolable(n, given);
  const auto axes = pool_axes(n, x);
  const bool counts_padding = n.flag("count_include_pad");
  Value out = pool_all("avg_pool2d", x, axes, 0);
  const bool has_extra =
      std::any_of(axes.begin(), axes.end(), [](const PoolAxis& a) { return a.extra != Dim(0); });
  if (counts_padding ? has_extra : any_pads(axes)) {
    // The average of ones is the fraction of a window that counts.
    Shape plane = x.shape();
    plane[0] = plane[1] = 1;
    std::vector<PoolAxis> counted = axes;
    for (std::size_t i = 0; i < axes.size() && counts_padding; ++i) {
      plane[static_cast<int>(i) + 2] += axes[i].before + axes[i].after;
      counted[i].before = counted[i].after = 0;
    }
    out = div(out, pool_all("avg_pool2d", ones(n.graph(), x.dtype(), plane), counted, 0));
  }
  return {cast(out, given.dtype())};
}

/// The exponent of LpPool and GlobalLpPool, a float in opset 1.
double norm_exponent(NodeImport& n) {
  const double p = n.opset() < 2 ? n.real("p", 2) : static_cast<double>(n.integer("p", 2));
  if (!(p >= 1)) throw FormatError(fmt::format("p must be at least 1, but is {}", p));
  return p;
}
Value norm_power(Value x, double p) {
  if (p == 2) return square(x);
  return p == 1 ? abs(x) : pow(abs(x), p);
}
/// Returns sums^(1 / p), with gradient 0 at 0.
Value norm_root(Value sums, double p) {
  if (p == 1) return sums;
  const Value positive = greater(sums, 0), safe = where(positive, sums, 1);
  return where(positive, p == 2 ? sqrt(safe) : pow(safe, 1 / p), 0);
}

std::vector<ImportedValue> lp_pool(NodeImport& n) {
  const Value given = n.input(0), x = poolable(n, given);
  const auto axes = pool_axes(n, x);
  const double p = norm_exponent(n);
  double elements = 1;
  for (const PoolAxis& a : axes) elements *= static_cast<double>(a.kernel);
  const Value sums = mul(pool_all("avg_pool2d", norm_power(x, p), axes, 0), elements);
  return {cast(norm_root(sums, p), given.dtype())};
}

std::vector<int> pool_spatial_axes(Value x) {
  std::vector<int> axes;
  for (int axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
  return axes;
}

std::vector<ImportedValue> global_average_pool(NodeImport& n) {
  const Value x = n.input(0);
  return {cast(mean(widened(x), pool_spatial_axes(x), true), x.dtype())};
}

std::vector<ImportedValue> global_max_pool(NodeImport& n) {
  const Value x = n.input(0);
  return {cast(max(widened(x), pool_spatial_axes(x), true), x.dtype())};
}

std::vector<ImportedValue> global_lp_pool(NodeImport& n) {
  const Value x = n.input(0);
  const double p = norm_exponent(n);
  const Value sums = sum(norm_power(widened(x), p), pool_spatial_axes(x), true);
  return {cast(norm_root(sums, p), x.dtype())};
}

std::vector<ImportedValue> max_unpool(NodeImport& n) {
  const Value x = n.input(0), index = n.input(1);
  const auto windows = read_windows(n, x);
  Shape shape = x.shape();
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const PoolAxis& a = windows[i];
    Dim& size = shape[static_cast<int>(i) + 2];
    size = (size - 1) * Dim(a.stride) + a.kernel - a.before - a.after;
  }
  const Dim count = x.shape().numel();
  const Value out = scatter_rows(n, zeros(n.graph(), x.dtype(), Shape{shape.numel(), 1}),
                                 wrapped_index(n, reshaped(n, index, Shape{count}), shape.numel()),
                                 reshape(x, Shape{count, 1}), "none");
  const Value image = reshape(out, shape);
  if (!n.has(2)) return {image};
  // Indices count in the inferred shape; output_shape adds elements at the ends of the axes.
  const std::vector<Dim> sizes = n.sizes(2);
  std::vector<std::pair<Dim, Dim>> pads;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    pads.emplace_back(0, sizes[i] - shape[static_cast<int>(i)]);
  return {pad(image, pads)};
}

constexpr Operator kPoolingOperators[] = {
    {"MaxPool", 1, max_pool},
    {"AveragePool", 1, average_pool},
    {"LpPool", 1, lp_pool},
    {"GlobalAveragePool", 1, global_average_pool},
    {"GlobalMaxPool", 1, global_max_pool},
    {"GlobalLpPool", 1, global_lp_pool},
    {"MaxUnpool", 9, max_unpool},
};

}  // namespace

std::span<const Operator> pooling_operators() { return kPoolingOperators; }

}  // namespace weft::onnx

// Sampling of images at positions that are computed in the graph.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/dims.h"
#include "weft/serialization/onnx/import/operators/interpolation.h"
#include "weft/serialization/onnx/import/operators/numeric.h"

namespace weft::onnx {
namespace {

/// Returns a size as a number that can be combined with a tensor of `dtype`.
Value size_number(Graph& graph, const Dim& size, DType dtype) {
  return size.is_constant() ? graph.scalar(dtype, static_cast<double>(size.constant()))
                            : dim_value(graph, size, dtype);
}

/// Returns x [N, C, sizes...] as rows [N sizes..., C], one for each pixel.
Value pixel_rows(Value x) {
  std::vector<int> order{0};
  for (int axis = 2; axis < x.rank(); ++axis) order.push_back(axis);
  order.push_back(1);
  const Dim pixels = x.shape()[0] * size_product(x.shape(), 2, x.rank());
  return reshape(permute(x, order), Shape{pixels, x.shape()[1]});
}

/// A neighbour of each position along one axis.
struct Neighbour {
  Value place;   // i64, inside of the axis
  Value weight;  // undefined if it is 1
  Value inside;  // bool: false if the neighbour counts as 0; undefined if there are none
};

// -- GridSample -----------------------------------------------------------------------------------

struct GridMode {
  std::string mode, padding;
  bool align_corners = false;
};

/// Reflects positions at the borders `low` and `low` + `range` of an axis.
Value reflected(Value x, double low, Value range) {
  const Value distance = abs(x - low), length = maximum(range, 1);
  const Value turns = floor(distance / length), rest = distance - turns * length;
  const Value odd = equal(turns - 2 * floor(turns / 2), 1);
  return where(odd, length - rest, rest) + low;
}

/// Returns the neighbours of the normalised positions g along an axis.
std::vector<Neighbour> grid_neighbours(const GridMode& mode, Value g, const Dim& axis_size,
                                       bool rounds_half_even) {
  const Value size = size_number(g.graph(), axis_size, g.dtype());
  const double low = mode.align_corners ? 0 : -0.5;
  const Value range = mode.align_corners ? size - 1 : size;
  Value x = mode.align_corners ? (g + 1) / 2 * (size - 1) : ((g + 1) * size - 1) / 2;
  if (mode.mode == "nearest") {
    x = rounds_half_even ? round(x) : where(x >= 0, floor(x + 0.5), ceil(x - 0.5));
  }
  // Cubic interpolation repeats the border elements at any distance, as in PyTorch.
  if (mode.padding == "border" && mode.mode != "cubic") {
    x = maximum(minimum(x, size - 1), 0);
  } else if (mode.padding == "reflection") {
    x = reflected(x, low, range);
  }
  const Value first = floor(x), rest = x - first;
  std::vector<Value> weights{Value()};
  double begin = 0;
  if (mode.mode == "linear") {
    weights = {1 - rest, rest};
  } else if (mode.mode == "cubic") {
    weights = cubic_weights(rest, -0.75);
    begin = -1;
  }
  std::vector<Neighbour> neighbours;
  for (const Value& weight : weights) {
    Value place = begin == 0 ? first : first + begin;
    Value inside;
    if (mode.padding == "zeros") inside = logical_and(place >= 0, place < size);
    if (mode.padding == "reflection") place = reflected(place, low, range);
    place = maximum(minimum(place, size - 1), 0);
    neighbours.push_back({cast(place, DType::i64), weight, inside});
    begin += 1;
  }
  return neighbours;
}

Value both_inside(Value a, Value b) {
  return !a.defined() ? b : !b.defined() ? a : logical_and(a, b);
}
Value weight_product(Value a, Value b) { return !a.defined() ? b : !b.defined() ? a : mul(a, b); }

/// Adds the weighted pixels of all combinations of neighbours along the axes from `axis` on.
/// `partial` combines those of the axes before, and its place is the number of a row.
void add_pixels(Value rows, const std::vector<std::vector<Neighbour>>& axes,
                const std::vector<Dim>& sizes, std::size_t axis, const Neighbour& partial,
                Value& sum) {
  if (axis == axes.size()) {
    Value pixels = take(rows, partial.place);  // [N, positions..., C]
    if (partial.inside.defined()) pixels = where(unsqueeze(partial.inside, -1), pixels, 0);
    if (partial.weight.defined()) pixels = mul(pixels, unsqueeze(partial.weight, -1));
    sum = sum.defined() ? add(sum, pixels) : pixels;
    return;
  }
  const Value size = dim_value(rows.graph(), sizes[axis]);
  for (const Neighbour& next : axes[axis]) {
    add_pixels(
        rows, axes, sizes, axis + 1,
        {add(mul(partial.place, size), next.place), weight_product(partial.weight, next.weight),
         both_inside(partial.inside, next.inside)},
        sum);
  }
}

std::vector<ImportedValue> grid_sample(NodeImport& n) {
  const Value given = n.input(0), grid = n.input(1);
  const int spatial = given.rank() - 2;
  GridMode mode{n.text("mode", n.opset() >= 20 ? "linear" : "bilinear"),
                n.text("padding_mode", "zeros"), n.flag("align_corners")};
  if (mode.mode == "bilinear") mode.mode = "linear";
  if (mode.mode == "bicubic") mode.mode = "cubic";
  if (mode.mode != "nearest" && mode.mode != "linear" && mode.mode != "cubic")
    n.unsupported(fmt::format("mode '{}'", mode.mode));
  if (mode.padding != "zeros" && mode.padding != "border" && mode.padding != "reflection")
    n.unsupported(fmt::format("padding_mode '{}'", mode.padding));
  if (spatial > 3) n.unsupported(fmt::format("{} spatial axes", spatial));
  if (spatial < 1 || grid.rank() != given.rank() || grid.size(-1) != Dim(spatial)) {
    throw FormatError(
        fmt::format("the operands {} and {} do not fit", given.type().str(), grid.type().str()));
  }
  require_equal(n, grid.shape()[0], given.shape()[0]);
  const Value x = mode.mode == "nearest" ? given : widened(given);
  const Value g = cast(widened(grid), x.dtype() == DType::f64 ? DType::f64 : DType::f32);
  std::vector<std::vector<Neighbour>> axes;
  std::vector<Dim> sizes;
  for (int i = 0; i < spatial; ++i) {
    // The last coordinate belongs to the first spatial axis.
    sizes.push_back(x.shape()[i + 2]);
    axes.push_back(
        grid_neighbours(mode, select(g, -1, spatial - 1 - i), sizes.back(), spatial != 3));
  }
  Shape batch(std::vector<Dim>(static_cast<std::size_t>(spatial) + 1, Dim(1)));
  batch[0] = x.shape()[0];
  Value sum;
  add_pixels(pixel_rows(x), axes, sizes, 0, {iota(n.graph(), batch, 0), {}, {}}, sum);
  std::vector<int> order{0, spatial + 1};
  for (int i = 1; i <= spatial; ++i) order.push_back(i);
  return {cast(permute(sum, order), given.dtype())};
}

std::vector<ImportedValue> affine_grid(NodeImport& n) {
  const Value given = n.input(0), theta = widened(given);
  const std::vector<Dim> size = n.sizes(1);
  const int spatial = static_cast<int>(size.size()) - 2;
  if (spatial < 1 || theta.rank() != 3 || theta.shape()[1] != Dim(spatial) ||
      theta.shape()[2] != Dim(spatial + 1)) {
    throw FormatError(fmt::format("theta {} does not fit a size of {} elements", theta.type().str(),
                                  size.size()));
  }
  const bool align_corners = n.flag("align_corners");
  Graph& graph = n.graph();
  // Column j of theta as [N, 1..., spatial].
  const auto column = [&](int j) {
    Shape shape(std::vector<Dim>(static_cast<std::size_t>(spatial) + 2, Dim(1)));
    shape[0] = theta.shape()[0];
    shape[spatial + 1] = spatial;
    return reshape(select(theta, 2, j), shape);
  };
  Value grid = column(spatial);
  for (int i = 0; i < spatial; ++i) {
    const Dim& length = size[static_cast<std::size_t>(i) + 2];
    Shape along(std::vector<Dim>(static_cast<std::size_t>(spatial) + 2, Dim(1)));
    along[i + 1] = length;
    const Value place = iota(graph, along, i + 1, theta.dtype());
    const Value count = size_number(graph, length, theta.dtype());
    Value x = (2 * place + 1) / count - 1;
    if (align_corners) x = where(count > 1, 2 * place / maximum(count - 1, 1) - 1, 0.0);
    grid = grid + column(spatial - 1 - i) * x;
  }
  return {cast(grid, given.dtype())};
}

// -- RoiAlign -------------------------------------------------------------------------------------

/// Returns the two neighbours of sample `sample` of `samples` in each of `bins` bins [R, bins] of
/// regions from `begin` with bins of size `bin`, [R, 1]. Samples more than one pixel outside of the
/// image count as 0.
std::vector<Neighbour> roi_neighbours(Value begin, Value bin, std::int64_t bins,
                                      std::int64_t sample, std::int64_t samples,
                                      const Dim& axis_size) {
  Graph& graph = begin.graph();
  const Value size = size_number(graph, axis_size, begin.dtype());
  const double offset = (static_cast<double>(sample) + 0.5) / static_cast<double>(samples);
  const Value x = begin + (iota(graph, {1, bins}, 1, begin.dtype()) + offset) * bin;
  const Value inside = logical_and(x >= -1, x <= size);
  const Value clamped = maximum(minimum(x, size - 1), 0);
  const Value first = floor(clamped), rest = clamped - first;
  const auto place = [](Value v) { return cast(v, DType::i64); };
  return {{place(first), 1 - rest, inside}, {place(minimum(first + 1, size - 1)), rest, inside}};
}

std::vector<ImportedValue> roi_align(NodeImport& n) {
  const Value given = n.input(0), x = widened(given), index = n.input(2);
  const Value rois = cast(widened(n.input(1)), x.dtype());
  const std::string mode = n.text("mode", "avg");
  const std::int64_t height = n.integer("output_height", 1), width = n.integer("output_width", 1);
  const std::int64_t samples = n.integer("sampling_ratio", 0);
  const double scale = n.real("spatial_scale", 1);
  const std::string coordinates = n.opset() >= 16
                                      ? n.text("coordinate_transformation_mode", "half_pixel")
                                      : "output_half_pixel";
  if (mode != "avg" && mode != "max") n.unsupported(fmt::format("mode '{}'", mode));
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
    n.unsupported(fmt::format("coordinate_transformation_mode '{}'", coordinates));
  if (samples < 1) n.unsupported("sampling_ratio 0, with which the work depends on data,");
  if (samples > 16) n.unsupported(fmt::format("sampling_ratio {}", samples));
  if (x.rank() != 4 || rois.rank() != 2 || rois.shape()[1] != Dim(4) || index.rank() != 1 ||
      height < 1 || width < 1) {
    throw FormatError(fmt::format("the operands {}, {} and {} do not fit", x.type().str(),
                                  rois.type().str(), index.type().str()));
  }
  require_equal(n, rois.shape()[0], index.shape()[0]);
  const bool half_pixel = coordinates == "half_pixel";
  const auto corner = [&](std::int64_t first) {
    const Value v = slice(rois, 1, {first, first + 1, 1}) * scale;  // [R, 1]
    return half_pixel ? v - 0.5 : v;
  };
  const auto bin_size = [&](std::int64_t first, std::int64_t bins) {
    const Value length = corner(first + 2) - corner(first);
    return (half_pixel ? length : maximum(length, 1)) / static_cast<double>(bins);
  };
  // The first pixel of the image of each region; the table checks the range of the indices.
  Graph& graph = n.graph();
  const Dim &rows = x.shape()[2], &columns = x.shape()[3];
  const Value image =
      reshape(take(mul(arange(graph, x.shape()[0]), dim_value(graph, rows * columns)), index),
              Shape{rois.shape()[0], 1, 1});
  const Value pixels = pixel_rows(x);
  Value out;
  for (std::int64_t i = 0; i < samples * samples; ++i) {
    const auto y =
        roi_neighbours(corner(1), bin_size(1, height), height, i / samples, samples, rows);
    const auto across =
        roi_neighbours(corner(0), bin_size(0, width), width, i % samples, samples, columns);
    for (const Neighbour& a : y) {
      for (const Neighbour& b : across) {
        const Value row = add(add(image, mul(unsqueeze(a.place, 2), dim_value(graph, columns))),
                              unsqueeze(b.place, 1));
        const Value weight = mul(unsqueeze(a.weight, 2), unsqueeze(b.weight, 1));
        const Value inside = logical_and(unsqueeze(a.inside, 2), unsqueeze(b.inside, 1));
        const Value part = mul(take(pixels, row), unsqueeze(where(inside, weight, 0), 3));
        out = !out.defined() ? part : mode == "avg" ? add(out, part) : maximum(out, part);
      }
    }
  }
  if (mode == "avg") out = out / static_cast<double>(samples * samples);
  return {cast(permute(out, {0, 3, 1, 2}), given.dtype())};
}

// -- MaxRoiPool -----------------------------------------------------------------------------------

/// Returns bool [R, bins, size]: the elements of an axis that belong to the bins between `first`
/// and `last` (f32 or f64 [R]), which are positions of elements.
Value roi_bins(Value first, Value last, std::int64_t bins, const Dim& size) {
  Graph& graph = first.graph();
  const DType dtype = first.dtype();
  const Value begin = reshape(first, Shape{first.shape()[0], 1, 1});
  const Value length = maximum(add(sub(reshape(last, begin.shape()), begin), 1), 1);
  const Value bin = iota(graph, {1, bins, 1}, 1, dtype),
              step = div(length, static_cast<double>(bins));
  const Value place = iota(graph, {1, 1, size}, 2, dtype);
  return logical_and(greater_equal(place, add(begin, floor(mul(bin, step)))),
                     less(place, add(begin, ceil(mul(add(bin, 1), step)))));
}

std::vector<ImportedValue> max_roi_pool(NodeImport& n) {
  const Value given = n.input(0), x = widened(given), rois = widened(n.input(1));
  const Sizes bins = n.integers("pooled_shape").value_or(Sizes{});
  const double scale = n.real("spatial_scale", 1);
  if (bins.size() != 2 || bins[0] < 1 || bins[1] < 1 || x.rank() != 4 || rois.rank() != 2) {
    throw FormatError(fmt::format("pooled_shape {} does not fit operands {} and {}",
                                  to_string(bins), x.type().str(), rois.type().str()));
  }
  const auto corner = [&](std::int64_t column) {
    return floor(add(mul(select(rois, 1, column), scale), 0.5));
  };
  const Value rows = roi_bins(corner(2), corner(4), bins[0], x.shape()[2]);
  const Value columns = roi_bins(corner(1), corner(3), bins[1], x.shape()[3]);
  const Value images = take(x, cast(select(rois, 1, 0), DType::i64));  // [R, C, H, W]
  const double lowest = -std::numeric_limits<double>::infinity();
  const Value strips =
      max(where(unsqueeze(unsqueeze(columns, 1), 1), unsqueeze(images, 3), lowest), 4);
  const Value out = max(where(unsqueeze(unsqueeze(rows, 1), 4), unsqueeze(strips, 2), lowest), 3);
  const Value filled = logical_and(unsqueeze(any(rows, 2), 2), unsqueeze(any(columns, 2), 1));
  return {cast(where(unsqueeze(filled, 1), out, 0), given.dtype())};
}

constexpr Operator kSamplingOperators[] = {
    {"GridSample", 16, grid_sample},
    {"AffineGrid", 20, affine_grid},
    {"RoiAlign", 10, roi_align},
    {"MaxRoiPool", 1, max_roi_pool},
};

}  // namespace

std::span<const Operator> sampling_operators() { return kSamplingOperators; }

}  // namespace weft::onnx

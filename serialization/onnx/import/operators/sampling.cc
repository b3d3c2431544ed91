// Sampling of images at positions that are computed in the graph.
#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/dims.h"
#include "weft/serialization/onnx/import/operators/interpolation.h"
#include "weft/serialization/onnx/import/operators/numeric.h"
#include "weft/serialization/onnx/import/operators/pixels.h"

namespace weft::onnx {
namespace {

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
  const Value sum = weighted_pixels(pixel_rows(x), iota(n.graph(), batch, 0), axes, sizes);
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

// -- DeformConv -----------------------------------------------------------------------------------

/// One spatial axis of a deformable convolution.
struct DeformAxis {
  std::int64_t kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0;
};

std::vector<DeformAxis> deform_axes(NodeImport& n, Value weight) {
  const auto list = [&](std::string_view name, std::size_t count, std::int64_t otherwise) {
    const auto values = n.integers(name).value_or(Sizes(count, otherwise));
    if (values.size() != count)
      throw FormatError(fmt::format("{} must have {} elements", name, count));
    for (const std::int64_t value : values) {
      if (value < otherwise || value >= std::int64_t{1} << 31)
        throw FormatError(fmt::format("an element of {} is {}", name, value));
    }
    return values;
  };
  const Sizes strides = list("strides", 2, 1), dilations = list("dilations", 2, 1);
  const Sizes pads = list("pads", 4, 0), kernel = list("kernel_shape", 2, 1);
  std::vector<DeformAxis> axes;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t size = weight.shape()[static_cast<int>(i) + 2].constant();
    if (n.has_attribute("kernel_shape") && kernel[i] != size)
      throw FormatError(
          fmt::format("kernel_shape does not fit the weight {}", weight.type().str()));
    axes.push_back({size, strides[i], dilations[i], pads[i], pads[i + 2]});
  }
  return axes;
}

/// Returns the positions along axis `i` (0 or 1) of the image without offsets: element k of the
/// kernel in window o is at o stride - begin + k dilation, [1, 1, kernel elements, windows, 1] or
/// [1, 1, kernel elements, 1, windows].
Value window_positions(Graph& graph, const std::vector<DeformAxis>& axes, std::size_t i,
                       const Dim& windows, DType dtype) {
  const std::int64_t width = axes[1].kernel, elements = axes[0].kernel * width;
  const Value element = iota(graph, {1, 1, elements, 1, 1}, 2);
  const Value k = i == 0 ? element / width : element - element / width * width;
  Shape along{1, 1, 1, 1, 1};
  along[static_cast<int>(i) + 3] = windows;
  const Value window = iota(graph, along, static_cast<int>(i) + 3);
  return cast(window * axes[i].stride + k * axes[i].dilation - axes[i].begin, dtype);
}

std::vector<ImportedValue> deform_conv(NodeImport& n) {
  const Value given = n.input(0), x = widened(given), weight = widened(n.input(1));
  const Value offset = cast(widened(n.input(2)), x.dtype());
  const std::int64_t group = n.integer("group", 1), offset_group = n.integer("offset_group", 1);
  if (x.rank() != 4 || weight.rank() != 4 || offset.rank() != 4)
    n.unsupported(fmt::format("operands {} and {}", x.type().str(), weight.type().str()));
  if (!Shape{weight.shape()[2], weight.shape()[3], x.shape()[1], weight.shape()[0]}.is_constant())
    n.unsupported("a kernel of symbolic size");
  const auto axes = deform_axes(n, weight);
  const std::int64_t channels = x.shape()[1].constant(), out = weight.shape()[0].constant();
  if (group < 1 || offset_group < 1 || channels % group != 0 || channels % offset_group != 0 ||
      out % group != 0 || weight.shape()[1] != Dim(channels / group)) {
    throw FormatError(fmt::format("{} groups and {} offset groups do not fit {} and {}", group,
                                  offset_group, x.type().str(), weight.type().str()));
  }
  Graph& graph = n.graph();
  const Dim batch = x.shape()[0], height = offset.shape()[2], width = offset.shape()[3];
  for (std::size_t i = 0; i < 2; ++i) {
    const DeformAxis& a = axes[i];
    const Dim room =
        x.shape()[static_cast<int>(i) + 2] + a.begin + a.end - a.dilation * (a.kernel - 1) - 1;
    require_equal(n, offset.shape()[static_cast<int>(i) + 2], floor_div(room, Dim(a.stride)) + 1);
  }
  const std::int64_t elements = axes[0].kernel * axes[1].kernel;
  const Shape positions{batch, offset_group, elements, height, width};
  const Value offsets = reshaped(n, offset, Shape{batch, offset_group, elements, 2, height, width});
  std::vector<std::vector<Neighbour>> neighbours;
  for (std::size_t i = 0; i < 2; ++i) {
    const Value place = window_positions(graph, axes, i, i == 0 ? height : width, x.dtype()) +
                        select(offsets, 3, static_cast<std::int64_t>(i));
    neighbours.push_back(linear_neighbours(place, x.shape()[static_cast<int>(i) + 2]));
  }
  // The channels of each offset group form a separate image.
  const Shape images{batch, offset_group, 1, 1, 1};
  const Value image = iota(graph, images, 0) * offset_group + iota(graph, images, 1);
  const Value rows = pixel_rows(reshape(
      x, Shape{batch * Dim(offset_group), channels / offset_group, x.shape()[2], x.shape()[3]}));
  Value columns = weighted_pixels(rows, image, neighbours, {x.shape()[2], x.shape()[3]});
  if (n.has(4))
    columns = columns * unsqueeze(reshaped(n, cast(widened(n.input(4)), x.dtype()), positions), -1);
  columns = reshape(permute(columns, {0, 1, 5, 2, 3, 4}),
                    Shape{batch, group, channels / group * elements, height * width});
  const Value kernels = reshape(weight, Shape{group, out / group, channels / group * elements});
  Value result = reshape(matmul(kernels, columns), Shape{batch, out, height, width});
  if (n.has(3)) result = result + reshape(widened(n.input(3)), Shape{out, 1, 1});
  return {cast(result, given.dtype())};
}

constexpr Operator kSamplingOperators[] = {
    {"GridSample", 16, grid_sample},
    {"AffineGrid", 20, affine_grid},
    {"DeformConv", 19, deform_conv},
};

}  // namespace

std::span<const Operator> sampling_operators() { return kSamplingOperators; }

}  // namespace weft::onnx

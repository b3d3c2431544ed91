// Pooling of regions.
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
#include "weft/serialization/onnx/import/operators/numeric.h"
#include "weft/serialization/onnx/import/operators/pixels.h"

namespace weft::onnx {
namespace {

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

constexpr Operator kRegionOperators[] = {
    {"RoiAlign", 10, roi_align},
    {"MaxRoiPool", 1, max_roi_pool},
};

}  // namespace

std::span<const Operator> region_operators() { return kRegionOperators; }

}  // namespace weft::onnx

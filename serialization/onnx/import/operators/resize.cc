// Resize and Upsample: interpolation along one axis after the other.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/interpolation.h"
#include "weft/serialization/onnx/import/operators/numeric.h"

namespace weft::onnx {
namespace {

/// The settings of Resize. Coordinates and weights are computed in f64, in the graph, because sizes
/// may be symbolic; those of constant sizes become constants.
struct ResizeMode {
  std::string mode = "nearest";            // or linear, cubic
  std::string coordinates = "asymmetric";  // coordinate_transformation_mode
  std::string rounding = "simple";         // nearest_mode, or simple before opset 11
  double cubic_a = -0.75;
  bool exclude_outside = false, antialias = false;
};

/// One axis that is resized.
struct ResizeAxis {
  int axis = 0;
  Dim in = 0, out = 0;
  std::optional<double> scale = {};  // out / in if absent
  Value start = {}, end = {};        // the region of tf_crop_and_resize, f64 scalars
};

Value resize_number(Graph& graph, const Dim& size) {
  return size.is_constant() ? graph.scalar(DType::f64, static_cast<double>(size.constant()))
                            : dim_value(graph, size, DType::f64);
}

/// Returns the position in the operand of each element of the resized axis, f64 [out].
Value resize_coordinates(NodeImport& n, const ResizeMode& mode, const ResizeAxis& a) {
  Graph& graph = n.graph();
  const Value in = resize_number(graph, a.in), out = resize_number(graph, a.out);
  const Value place = arange(graph, a.out, DType::f64);
  // The length before rounding, which the specification calls length_resized.
  const Value length = a.scale ? in * *a.scale : out;
  const auto unscaled = [&](Value v) {
    if (!a.scale) return v * in / out;
    v = v / *a.scale;
    // A scale like 0.6f is meant to be 0.6: 3 / 0.6f is 5 in float, but less in double.
    return mode.mode == "nearest" ? cast(cast(v, DType::f32), DType::f64) : v;
  };
  const std::string& name = mode.coordinates;
  if (name == "asymmetric") return unscaled(place);
  if (name == "tf_half_pixel_for_nn") return unscaled(place + 0.5);
  if (name == "align_corners") return where(equal(length, 1), 0.0, place * (in - 1) / (length - 1));
  if (name == "tf_crop_and_resize") {
    const Value steps = place * (a.end - a.start) * (in - 1) / (length - 1);
    return where(length > 1, a.start * (in - 1) + steps, 0.5 * (a.start + a.end) * (in - 1));
  }
  const Value centre = unscaled(place + 0.5) - 0.5;
  if (name == "half_pixel") return centre;
  if (name == "pytorch_half_pixel") return where(length > 1, centre, 0.0);
  if (name == "half_pixel_symmetric") return in / 2 * (1 - out / length) + centre;
  n.unsupported(fmt::format("coordinate_transformation_mode '{}'", name));
}

Value nearest_place(NodeImport& n, const ResizeMode& mode, const ResizeAxis& a, Value x) {
  // Before opset 11, in ONNX Runtime: up when an axis becomes smaller.
  if (mode.rounding == "simple") return a.scale.value_or(1) < 1 ? ceil(x) : floor(x);
  if (mode.rounding == "round_prefer_floor") return ceil(x - 0.5);
  if (mode.rounding == "round_prefer_ceil") return floor(x + 0.5);
  if (mode.rounding == "floor") return floor(x);
  if (mode.rounding == "ceil") return ceil(x);
  n.unsupported(fmt::format("nearest_mode '{}'", mode.rounding));
}

/// An element that contributes to each element of the result.
struct ResizeTap {
  Value place;   // f64 [out], may be outside of the axis
  Value weight;  // f64 [out]
};

std::vector<ResizeTap> resize_taps(NodeImport& n, const ResizeMode& mode, const ResizeAxis& a,
                                   Value x) {
  const Value first = floor(x), rest = x - first;
  const bool cubic = mode.mode == "cubic";
  std::int64_t begin = cubic ? -1 : 0;
  std::vector<Value> weights;
  if (mode.antialias) {
    if (!a.scale && !(a.in.is_constant() && a.out.is_constant()))
      n.unsupported(fmt::format("antialias for an axis of size {}", a.in.str()));
    const double scale = std::min(1.0, a.scale ? *a.scale
                                               : static_cast<double>(a.out.constant()) /
                                                     static_cast<double>(a.in.constant()));
    const double reach = (cubic ? 2 : 1) / scale;
    if (!(reach < 4096)) n.unsupported(fmt::format("antialias with scale {}", scale));
    begin = static_cast<std::int64_t>(std::floor(-reach)) + 1;
    for (std::int64_t i = begin; i <= 1 - begin; ++i) {
      const Value t = abs(static_cast<double>(i) - rest) * scale;
      weights.push_back(cubic ? where(t <= 1, cubic_near(t, mode.cubic_a),
                                      where(t < 2, cubic_far(t, mode.cubic_a), 0))
                              : maximum(1 - t, 0));
    }
  } else {
    weights = cubic ? cubic_weights(rest, mode.cubic_a) : std::vector<Value>{1 - rest, rest};
  }
  std::vector<ResizeTap> taps;
  const Value last = resize_number(n.graph(), a.in) - 1;
  Value total;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Value place = first + static_cast<double>(begin + static_cast<std::int64_t>(i));
    Value weight = weights[i];
    if (mode.exclude_outside) weight = where(logical_and(place >= 0, place <= last), weight, 0);
    taps.push_back({place, weight});
    total = total.defined() ? total + weight : weight;
  }
  if (mode.antialias || mode.exclude_outside)
    for (ResizeTap& tap : taps) tap.weight = tap.weight / total;
  return taps;
}

/// Returns a value that does not depend on data as a constant, if all sizes are constant.
Value resize_constant(NodeImport& n, Value value) {
  const auto known = n.known(value);
  return known ? n.graph().constant(*known) : value;
}

/// Returns x [..., axis, ...] at positions along the axis, clamped to it.
Value elements_at(NodeImport& n, Value x, const ResizeAxis& a, Value place) {
  const Value last = resize_number(n.graph(), a.in) - 1;
  const Value index = cast(maximum(minimum(place, last), 0), DType::i64);
  return take(x, resize_constant(n, index), a.axis);
}

/// Returns the integer factor by which nearest interpolation repeats each element, or 0.
std::int64_t repetition(const ResizeMode& mode, const ResizeAxis& a) {
  const auto ratio = Dim::try_exact_div(a.out, a.in);
  if (!ratio || !ratio->is_constant() || ratio->constant() < 1) return 0;
  const std::int64_t factor = ratio->constant();
  if (a.scale && *a.scale != static_cast<double>(factor)) return 0;
  const bool rounds = mode.rounding.starts_with("round");
  const bool centred =
      mode.coordinates == "half_pixel" || mode.coordinates == "half_pixel_symmetric";
  const bool floors = mode.rounding == "floor" || mode.rounding == "simple";
  const bool fits = (mode.coordinates == "asymmetric" && floors) || (centred && rounds) ||
                    (mode.coordinates == "pytorch_half_pixel" && rounds && a.out.is_constant() &&
                     a.out.constant() > 1);
  return fits ? factor : 0;
}

/// Resizes one axis of x, f32 or f64 unless the mode is nearest. Sets `outside` to the positions
/// outside of the operand.
Value resize_axis(NodeImport& n, const ResizeMode& mode, Value x, const ResizeAxis& a,
                  Value& outside) {
  if (mode.mode == "nearest") {
    if (const std::int64_t factor = repetition(mode, a))
      return repeat_interleave(x, factor, a.axis);
  }
  const Value place = resize_coordinates(n, mode, a);
  outside = logical_or(place<0, place> resize_number(n.graph(), a.in) - 1);
  if (mode.mode == "nearest") return elements_at(n, x, a, nearest_place(n, mode, a, place));
  Shape along(std::vector<Dim>(static_cast<std::size_t>(x.rank() - a.axis), Dim(1)));
  along[0] = a.out;
  Value sum;
  for (const ResizeTap& tap : resize_taps(n, mode, a, place)) {
    const Value weight = reshape(resize_constant(n, cast(tap.weight, x.dtype())), along);
    const Value part = elements_at(n, x, a, tap.place) * weight;
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

Value resized(NodeImport& n, const ResizeMode& mode, Value given,
              const std::vector<ResizeAxis>& axes, double extrapolation) {
  if (mode.mode != "nearest" && mode.mode != "linear" && mode.mode != "cubic")
    n.unsupported(fmt::format("mode '{}'", mode.mode));
  Value x = given;
  if (mode.mode != "nearest" && is_integer(x.dtype())) {
    x = cast(x, dtype_size(x.dtype()) == 1 ? DType::f32 : DType::f64);
  } else if (mode.mode != "nearest") {
    x = widened(x);
  }
  const bool crops = mode.coordinates == "tf_crop_and_resize";
  Value any_outside;
  for (const ResizeAxis& a : axes) {
    if (!crops && a.in == a.out && a.scale.value_or(1) == 1) continue;
    Value outside;
    x = resize_axis(n, mode, x, a, outside);
    if (!crops) continue;
    Shape along(std::vector<Dim>(static_cast<std::size_t>(x.rank() - a.axis), Dim(1)));
    along[0] = a.out;
    outside = reshape(outside, along);
    any_outside = any_outside.defined() ? logical_or(any_outside, outside) : outside;
  }
  x = cast(x, given.dtype());
  return any_outside.defined() ? where(any_outside, extrapolation, x) : x;
}

/// Sets the size of a scaled axis: size * scale, rounded down.
void set_scaled_size(NodeImport& n, ResizeAxis& a) {
  const double scale = *a.scale;
  if (!(scale > 0 && scale < 0x1p31)) throw FormatError(fmt::format("a scale is {}", scale));
  if (a.in.is_constant()) {
    // In float, as ONNX Runtime does: 10 * 0.7 is 7.
    a.out = static_cast<std::int64_t>(
        std::floor(static_cast<float>(a.in.constant()) * static_cast<float>(scale)));
    return;
  }
  for (std::int64_t divisor = 1; divisor <= 64; ++divisor) {
    const double factor = scale * static_cast<double>(divisor);
    if (factor != std::round(factor)) continue;
    a.out = floor_div(a.in * Dim(static_cast<std::int64_t>(factor)), Dim(divisor));
    return;
  }
  n.unsupported(fmt::format("scale {} for an axis of size {}", scale, a.in.str()));
}

/// Returns one ResizeAxis for each of the axes.
std::vector<ResizeAxis> scaled_axes(NodeImport& n, Value x, const Sizes& axes,
                                    const std::vector<double>& scales) {
  if (scales.size() != axes.size())
    throw FormatError(fmt::format("there are {} scales for {} axes", scales.size(), axes.size()));
  std::vector<ResizeAxis> out;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = n.normalised_axis(axes[i], x.rank());
    out.push_back({.axis = axis, .in = x.shape()[axis], .scale = scales[i]});
    set_scaled_size(n, out.back());
  }
  return out;
}

std::vector<ResizeAxis> sized_axes(NodeImport& n, Value x, const Sizes& axes,
                                   const std::vector<Dim>& sizes) {
  if (sizes.size() != axes.size())
    throw FormatError(fmt::format("there are {} sizes for {} axes", sizes.size(), axes.size()));
  std::vector<ResizeAxis> out;
  double smallest = std::numeric_limits<double>::infinity(), largest = 0;
  const std::string policy = n.text("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
    n.unsupported(fmt::format("keep_aspect_ratio_policy '{}'", policy));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = n.normalised_axis(axes[i], x.rank());
    out.push_back({.axis = axis, .in = x.shape()[axis], .out = sizes[i]});
    if (policy == "stretch") continue;
    if (!sizes[i].is_constant() || !out.back().in.is_constant())
      n.unsupported(fmt::format("keep_aspect_ratio_policy for {}", x.type().str()));
    const double scale =
        static_cast<double>(sizes[i].constant()) / static_cast<double>(out.back().in.constant());
    smallest = std::min(smallest, scale);
    largest = std::max(largest, scale);
  }
  if (policy == "stretch") return out;
  for (ResizeAxis& a : out) {
    a.scale = policy == "not_larger" ? smallest : largest;
    a.out = static_cast<std::int64_t>(
        std::floor(*a.scale * static_cast<double>(a.in.constant()) + 0.5));
  }
  return out;
}

std::vector<double> known_scales(NodeImport& n, std::size_t operand) {
  const Tensor scales = n.known_input(operand);
  std::vector<double> values;
  for (std::int64_t i = 0; i < scales.numel(); ++i) values.push_back(scales.at(i));
  return values;
}

Sizes resize_all_axes(Value x) {
  Sizes axes(static_cast<std::size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  return axes;
}

std::vector<ImportedValue> resize_values(NodeImport& n) {
  const Value x = n.input(0);
  ResizeMode mode;
  mode.mode = n.text("mode", "nearest");
  if (n.opset() < 11)
    return {resized(n, mode, x, scaled_axes(n, x, resize_all_axes(x), known_scales(n, 1)), 0)};
  mode.coordinates = n.text("coordinate_transformation_mode", "half_pixel");
  mode.rounding = n.text("nearest_mode", "round_prefer_floor");
  mode.cubic_a = n.real("cubic_coeff_a", -0.75);
  mode.exclude_outside = n.flag("exclude_outside");
  mode.antialias = n.flag("antialias");
  const double extrapolation = n.real("extrapolation_value", 0);
  const Sizes axes = n.integers("axes").value_or(resize_all_axes(x));
  const std::vector<double> scales = n.has(2) ? known_scales(n, 2) : std::vector<double>{};
  if (scales.empty() == !n.has(3)) throw FormatError("either scales or sizes must be given");
  auto resizes =
      scales.empty() ? sized_axes(n, x, axes, n.sizes(3)) : scaled_axes(n, x, axes, scales);
  if (!scales.empty()) n.skip_attribute("keep_aspect_ratio_policy");
  if (mode.coordinates != "tf_crop_and_resize") {
    n.skip_input(1);
    return {resized(n, mode, x, resizes, extrapolation)};
  }
  const Value region = cast(n.input(1), DType::f64);
  const auto count = static_cast<std::int64_t>(axes.size());
  for (std::int64_t i = 0; i < count; ++i) {
    resizes[static_cast<std::size_t>(i)].start = select(region, 0, i);
    resizes[static_cast<std::size_t>(i)].end = select(region, 0, count + i);
  }
  return {resized(n, mode, x, resizes, extrapolation)};
}

std::vector<ImportedValue> upsample(NodeImport& n) {
  const Value x = n.input(0);
  ResizeMode mode;
  mode.mode = n.text("mode", "nearest");
  std::vector<double> scales;
  if (n.opset() >= 9) {
    scales = known_scales(n, 1);
  } else if (n.opset() >= 7) {
    scales = n.reals("scales").value_or(std::vector<double>{});
  } else {
    if (mode.mode == "bilinear") mode.mode = "linear";
    scales = {1, 1, n.real("height_scale"), n.real("width_scale")};
  }
  return {resized(n, mode, x, scaled_axes(n, x, resize_all_axes(x), scales), 0)};
}

constexpr Operator kResizeOperators[] = {
    {"Resize", 10, resize_values},
    {"Upsample", 1, upsample},
};

}  // namespace

std::span<const Operator> resize_operators() { return kResizeOperators; }

}  // namespace weft::onnx

// Slices, padding, and operators that are composed of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/serialization/onnx/import/file_import.h"
#include "weft/serialization/onnx/import/graph_import.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/dims.h"
#include "weft/serialization/onnx/import/operators/numeric.h"
#include "weft/serialization/onnx/import/operators/rows.h"

namespace weft::onnx {
namespace {

// -- Slice and Split ------------------------------------------------------------------------------

/// Exporters write bounds of this size for "to the end" and "from the beginning".
constexpr std::int64_t kUnbounded = (std::int64_t{1} << 31) - 1;

/// Returns a bound of a slice of an axis of size n, where negative bounds count from the end.
/// Bounds are clamped to [low, n + high] if both are constant. Symbolic ones are not, because most
/// results of clamping could not be proved equal to any other size; the graph checks them when the
/// sizes are known.
Dim slice_bound(const Dim& given, const Dim& n, std::int64_t low, std::int64_t high) {
  if (given.is_constant() && given.constant() <= -kUnbounded) return low;
  if (given.is_constant() && given.constant() >= kUnbounded) return n + high;
  const bool from_end = given.is_constant() ? given.constant() < 0 : Dim::provably_le(given, 0);
  const Dim bound = from_end ? given + n : given;
  if (!bound.is_constant() || !n.is_constant()) return bound;
  return std::max(low, std::min(bound.constant(), n.constant() + high));
}

/// Returns the slice of ONNX of an axis of size n as a slice of Weft.
weft::Slice axis_slice(const Dim& n, const Dim& start, const Dim& end, std::int64_t step) {
  if (step > 0) return {slice_bound(start, n, 0, 0), slice_bound(end, n, 0, 0), step};
  if (n == Dim(0)) return {0, 0, 1};
  // -1, before the first element, is an absent bound in Weft.
  const Dim last = slice_bound(end, n, -1, -1);
  return {slice_bound(start, n, 0, -1), last == Dim(-1) ? std::nullopt : std::optional<Dim>(last),
          step};
}

/// Returns the value from which reshapes computed `v`.
Value before_reshapes(Value v) {
  while (v.node().op().name == "reshape") v = v.node().input(0);
  return v;
}

/// Returns end - start if `end` is the sum of `start` and a known number.
std::optional<std::int64_t> known_distance(NodeImport& n, Value start, Value end) {
  const Node& sum = before_reshapes(end).node();
  if (sum.op().name != "add") return std::nullopt;
  for (const std::size_t i : {0, 1}) {
    const auto number = n.known(sum.input(1 - i));
    if (before_reshapes(sum.input(i)) == before_reshapes(start) && number && number->numel() == 1)
      return static_cast<std::int64_t>(number->at(0));
  }
  return std::nullopt;
}

/// Returns x[i:i + n] for a number i that is computed from data, as in the bodies of loops.
/// Undefined if the slice is of another kind.
Value slice_at_data(NodeImport& n, Value x) {
  const Value start = n.input(1), end = n.input(2);
  if (n.import().file().known.dims(start) || start.shape().numel() != Dim(1)) return {};
  if (n.has(4) && n.known_integers(4) != Sizes{1}) return {};
  const auto length = known_distance(n, start, end);
  if (!length || *length < 1) return {};
  const int axis = n.normalised_axis(n.has(3) ? n.known_integers(3).at(0) : 0, x.rank());
  std::vector<Value> starts(static_cast<std::size_t>(x.rank()),
                            n.graph().constant(Tensor::zeros(DType::i64, {1})));
  starts[static_cast<std::size_t>(axis)] =
      reshape(wrapped_index(n, cast(start, DType::i64), x.shape()[axis]), Shape{1});
  Shape sizes = x.shape();
  sizes[axis] = *length;
  return dynamic_slice(x, concat(starts), sizes);
}

std::vector<ImportedValue> slice_values(NodeImport& n) {
  const Value x = n.input(0);
  if (n.opset() >= 10) {
    if (const Value part = slice_at_data(n, x); part.defined()) return {part};
  }
  std::vector<Dim> starts, ends;
  std::optional<Sizes> axes, steps;
  if (n.opset() >= 10) {
    starts = n.sizes(1);
    ends = n.sizes(2);
    if (n.has(3)) axes = n.known_integers(3);
    if (n.has(4)) steps = n.known_integers(4);
  } else {
    const Sizes first = n.integers("starts").value_or(Sizes{});
    const Sizes last = n.integers("ends").value_or(Sizes{});
    starts.assign(first.begin(), first.end());
    ends.assign(last.begin(), last.end());
    axes = n.integers("axes");
  }
  if (!axes) {
    axes.emplace(starts.size());
    std::iota(axes->begin(), axes->end(), std::int64_t{0});
  }
  if (!steps) steps.emplace(starts.size(), 1);
  if (ends.size() != starts.size() || axes->size() != starts.size() ||
      steps->size() != starts.size()) {
    throw FormatError(fmt::format("there are {} starts, {} ends, {} axes and {} steps",
                                  starts.size(), ends.size(), axes->size(), steps->size()));
  }
  std::vector<weft::Slice> slices(static_cast<std::size_t>(x.rank()));
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const int axis = n.normalised_axis((*axes)[i], x.rank());
    if ((*steps)[i] == 0) throw FormatError("a step is 0");
    slices[static_cast<std::size_t>(axis)] =
        axis_slice(x.shape()[axis], starts[i], ends[i], (*steps)[i]);
  }
  return {slice(x, slices)};
}

std::vector<ImportedValue> split_values(NodeImport& n) {
  const Value x = n.input(0);
  const int axis = n.axis("axis", 0, x.rank());
  const Dim size = x.shape()[axis];
  std::vector<Dim> sizes;
  if (n.has(1)) {
    sizes = n.sizes(1);
  } else if (n.opset() < 13 && n.has_attribute("split")) {
    const Sizes given = *n.integers("split");
    sizes.assign(given.begin(), given.end());
  } else {
    auto count = static_cast<std::int64_t>(n.output_count());
    if (n.opset() >= 18 && n.integer("num_outputs", count) != count)
      throw FormatError(fmt::format("num_outputs differs from the number of outputs, {}", count));
    // Since opset 18, the last part may be smaller. Parts of a symbolic axis are equal.
    const Dim part =
        floor_div(size + (n.opset() >= 18 && size.is_constant() ? count - 1 : 0), Dim(count));
    for (std::int64_t i = 0; i < count; ++i)
      sizes.push_back(
          size.is_constant()
              ? std::clamp<std::int64_t>(size.constant() - i * part.constant(), 0, part.constant())
              : part);
  }
  if (sizes.size() != n.output_count()) {
    throw FormatError(
        fmt::format("there are {} parts, but {} outputs", sizes.size(), n.output_count()));
  }
  Dim total = 0;
  for (const Dim& part : sizes) total += part;
  require_equal(n, total, size);
  std::vector<ImportedValue> parts;
  for (const Value& part : split(x, sizes, axis)) parts.emplace_back(part);
  return parts;
}

// -- Pad ------------------------------------------------------------------------------------------

using AxisPad = std::pair<Dim, Dim>;

/// Pads one axis by copying elements.
Value pad_axis_copying(NodeImport& n, Value x, int axis, const AxisPad& pads,
                       const std::string& mode) {
  const Dim size = x.shape()[axis];
  if (size == Dim(0)) throw FormatError("an empty axis has no elements to copy");
  const auto number = [&](const Dim& d) { return dim_value(n.graph(), d); };
  // The number of the element of x that each element of the result is copied from.
  Value source = arange(n.graph(), pads.first + size + pads.second) - number(pads.first);
  if (mode == "edge") {
    source = maximum(minimum(source, number(size - 1)), 0);
  } else {
    const Value period = mode == "wrap" ? number(size) : maximum(number(2 * (size - 1)), 1);
    source = source - source / period * period;
    source = where(source < 0, source + period, source);
    if (mode == "reflect") source = minimum(source, period - source);
  }
  if (const auto known = n.known(source)) source = n.graph().constant(*known);
  return take(x, source, axis);
}

/// Pads with a value that may be an arbitrary element of the dtype, or unknown.
Value pad_constant(NodeImport& n, Value x, const std::vector<AxisPad>& pads, Value value) {
  if (!value.defined()) return pad(x, pads);
  const auto known = n.known(value);
  if (known && known->numel() != 1)
    throw FormatError(fmt::format("the padding value has {} elements", known->numel()));
  // A double holds every element of the other dtypes, and i64 up to 2^53.
  if (known && (x.dtype() != DType::i64 || std::abs(known->at(0)) < 0x1p53))
    return pad(x, pads, {.value = known->at(0)});
  const Value inside = pad(ones(n.graph(), DType::boolean, x.shape()), pads);
  return where(inside, pad(x, pads), reshape(value, Shape{}));
}

std::vector<ImportedValue> pad_values(NodeImport& n) {
  Value x = n.input(0);
  const auto rank = static_cast<std::size_t>(x.rank());
  const std::string mode = n.text("mode", "constant");
  std::vector<Dim> given;
  Value value;
  if (n.opset() >= 11) {
    given = n.sizes(1);
    value = n.optional(2);
  } else {
    const Sizes pads = n.integers(n.opset() == 1 ? "paddings" : "pads").value_or(Sizes{});
    given.assign(pads.begin(), pads.end());
    const double number = n.real("value", 0);
    if (mode == "constant") value = n.graph().scalar(x.dtype(), number);
  }
  Sizes axes(rank);
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  if (n.opset() >= 18 && n.has(3)) axes = n.known_integers(3);
  if (given.size() != 2 * axes.size()) {
    throw FormatError(
        fmt::format("there are {} numbers of pads for {} axes", given.size(), axes.size()));
  }
  std::vector<AxisPad> pads(rank, AxisPad{0, 0});
  std::vector<weft::Slice> kept(rank);
  bool crops = false;
  const auto split_sign = [&](const Dim& pad, Dim& added, std::optional<Dim>& bound,
                              const Dim& cropped) {
    if (!pad.is_constant() || pad.constant() >= 0) {
      added = pad;
    } else {
      bound = cropped;
      crops = true;
    }
  };
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = n.normalised_axis(axes[i], x.rank());
    const auto at = static_cast<std::size_t>(axis);
    const Dim &before = given[i], &after = given[axes.size() + i];
    split_sign(before, pads[at].first, kept[at].begin, -before);
    split_sign(after, pads[at].second, kept[at].end, max(x.shape()[axis] + after, Dim(0)));
  }
  if (crops) x = slice(x, kept);
  if (mode == "constant") return {pad_constant(n, x, pads, value)};
  if (mode != "reflect" && mode != "edge" && (mode != "wrap" || n.opset() < 19))
    n.unsupported(fmt::format("mode '{}'", mode));
  for (std::size_t i = 0; i < rank; ++i) {
    if (pads[i].first != Dim(0) || pads[i].second != Dim(0))
      x = pad_axis_copying(n, x, static_cast<int>(i), pads[i], mode);
  }
  return {x};
}

std::vector<ImportedValue> center_crop_pad(NodeImport& n) {
  Value x = n.input(0);
  const std::vector<Dim> sizes = n.sizes(1);
  Sizes axes(static_cast<std::size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  if (n.has_attribute("axes")) axes = *n.integers("axes");
  if (axes.size() != sizes.size())
    throw FormatError(fmt::format("there are {} sizes for {} axes", sizes.size(), axes.size()));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = n.normalised_axis(axes[i], x.rank());
    const Dim size = x.shape()[axis], target = sizes[i];
    if (Dim::provably_le(target, size)) {
      const Dim begin = floor_div(size - target, Dim(2));
      x = slice(x, axis, {begin, begin + target, 1});
    } else if (Dim::provably_le(size, target)) {
      std::vector<AxisPad> pads(static_cast<std::size_t>(x.rank()), AxisPad{0, 0});
      const Dim before = floor_div(target - size, Dim(2));
      pads[static_cast<std::size_t>(axis)] = {before, target - size - before};
      x = pad(x, pads);
    } else {
      n.unsupported(fmt::format("the sizes {} and {}, of which either may be the larger one",
                                size.str(), target.str()));
    }
  }
  return {x};
}

std::vector<ImportedValue> reverse_sequence(NodeImport& n) {
  const Value x = n.input(0), lengths = n.input(1);
  const std::int64_t time_axis = n.integer("time_axis", 0), batch_axis = n.integer("batch_axis", 1);
  if (x.rank() < 2 || time_axis + batch_axis != 1 || time_axis * batch_axis != 0) {
    throw FormatError(
        fmt::format("the batch and time axes of {} must be axes 0 and 1, but are {} "
                    "and {}",
                    x.type().str(), batch_axis, time_axis));
  }
  // x as rows [n0 n1, ...] and the number of the row that each row is copied from, [n0, n1].
  Graph& graph = n.graph();
  const auto along_batch = [&](Value v) { return unsqueeze(v, static_cast<int>(time_axis)); };
  const Dim batch = x.shape()[static_cast<int>(batch_axis)];
  require_equal(n, batch, lengths.shape().numel());
  const Value time = iota(graph, Shape{x.shape()[0], x.shape()[1]}, static_cast<int>(time_axis));
  const Value length = along_batch(cast(lengths, DType::i64));
  // The table of positions rejects lengths above the size of the axis.
  const Value source = take(arange(graph, x.shape()[static_cast<int>(time_axis)]),
                            where(less(time, length), sub(sub(length, 1), time), time));
  const Value row =
      time_axis == 0
          ? add(mul(source, dim_value(graph, batch)), along_batch(arange(graph, batch)))
          : add(source, mul(along_batch(arange(graph, batch)), dim_value(graph, x.shape()[1])));
  return {take(flatten(x, 0, 1), row, 0)};
}

// -- Col2Im ---------------------------------------------------------------------------------------

std::vector<ImportedValue> columns_to_image(NodeImport& n) {
  const Value given = n.input(0), x = widened(given);
  const Sizes image = n.known_integers(1), block = n.known_integers(2);
  const std::size_t axes = image.size();
  const auto list = [&](std::string_view name, std::size_t count, std::int64_t otherwise) {
    auto values = n.integers(name).value_or(Sizes(count, otherwise));
    if (values.size() != count || block.size() != axes)
      throw FormatError(fmt::format("{} and block_shape do not fit {} axes", name, axes));
    return values;
  };
  const Sizes dilations = list("dilations", axes, 1), strides = list("strides", axes, 1);
  const Sizes pads = list("pads", 2 * axes, 0);
  // The positions of the elements [block..., windows...] in the padded image, axis after axis.
  Sizes padded, windows;
  for (std::size_t i = 0; i < axes; ++i) {
    for (const std::int64_t value :
         {image[i], block[i], dilations[i], strides[i], pads[i], pads[axes + i]})
      if (value < 0 || value >= std::int64_t{1} << 31)
        throw FormatError(
            fmt::format("the size, stride, dilation or pad {} is out of range", value));
    padded.push_back(image[i] + pads[i] + pads[axes + i]);
    const std::int64_t room = padded[i] - dilations[i] * (block[i] - 1) - 1;
    if (block[i] < 1 || dilations[i] < 1 || strides[i] < 1 || room < 0) {
      throw FormatError(
          fmt::format("block {} does not fit image {}", to_string(block), to_string(image)));
    }
    windows.push_back(room / strides[i] + 1);
  }
  Graph& graph = n.graph();
  num_elements(padded);  // throws on overflow
  const Sizes steps = row_major_strides(padded);
  Shape places(block);
  for (const std::int64_t size : windows) places.push_back(size);
  Value position = graph.scalar(DType::i64, 0);
  for (std::size_t i = 0; i < axes; ++i) {
    const int inner = static_cast<int>(i), outer = static_cast<int>(axes + i);
    position = add(position, mul(iota(graph, places, inner), dilations[i] * steps[i]));
    position = add(position, mul(iota(graph, places, outer), strides[i] * steps[i]));
  }
  const Dim blocks = Shape(block).numel(), channels = floor_div(x.size(1), blocks);
  const Shape rows{x.size(0) * channels, places.numel()};
  Value out = zeros(graph, x.dtype(), Shape{rows[0], Shape(padded).numel()});
  out = index_add(out, reshape(position, Shape{places.numel()}), reshaped(n, x, rows), 1);
  Shape shape{x.size(0), channels};
  std::vector<weft::Slice> kept(2);
  for (std::size_t i = 0; i < axes; ++i) {
    shape.push_back(padded[i]);
    kept.push_back({pads[i], pads[i] + image[i], 1});
  }
  return {cast(slice(reshape(out, shape), kept), given.dtype())};
}

constexpr Operator kSliceOperators[] = {
    {"Slice", 1, slice_values},
    {"Split", 1, split_values},
    {"Pad", 1, pad_values},
    {"CenterCropPad", 18, center_crop_pad},
    {"ReverseSequence", 10, reverse_sequence},
    {"Col2Im", 18, columns_to_image},
};

}  // namespace

std::span<const Operator> slice_operators() { return kSliceOperators; }

}  // namespace weft::onnx

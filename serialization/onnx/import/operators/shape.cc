// Shapes of values, and tensors that are generated from sizes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/dims.h"
#include "weft/serialization/onnx/import/operators/numeric.h"

namespace weft::onnx {
namespace {

// -- Reshaping ------------------------------------------------------------------------------------

std::vector<ImportedValue> reshape_values(NodeImport& n) {
  const Value x = n.input(0);
  Shape shape;
  if (n.opset() >= 5) {
    shape = Shape(n.sizes(1));
  } else {
    shape = Shape(n.integers("shape").value_or(Sizes{}));
    n.skip_attribute("consumed_inputs");
  }
  const bool keeps_zeros = n.opset() >= 14 && n.flag("allowzero");
  int inferred = -1;
  bool has_zero = false;
  Dim known = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == Dim(0) && !keeps_zeros) {
      if (i >= x.rank()) {
        throw FormatError(fmt::format(
            "size {} of the new shape is 0, which copies the size of an axis, but the operand {} "
            "has only {} axes",
            i, x.type().str(), x.rank()));
      }
      shape[i] = x.shape()[i];
    }
    if (shape[i] == Dim(-1)) {
      if (inferred >= 0) throw FormatError("more than one size of the new shape is -1");
      inferred = i;
      continue;
    }
    if (shape[i].is_constant() && shape[i].constant() < 0)
      throw FormatError(fmt::format("a size of the new shape is {}", shape[i].str()));
    has_zero = has_zero || shape[i] == Dim(0);
    known *= shape[i];
  }
  if (inferred >= 0) {
    if (has_zero) throw FormatError("the size -1 cannot be inferred, because another size is 0");
    const Dim all = x.shape().numel();
    const auto exact = Dim::try_exact_div(all, known);
    if (!exact && all.is_constant() && known.is_constant()) {
      throw FormatError(
          fmt::format("{} elements cannot be arranged in rows of {}", all.str(), known.str()));
    }
    shape[inferred] = exact ? *exact : floor_div(all, known);
  }
  return {reshaped(n, x, shape)};
}

std::vector<ImportedValue> flatten_to_matrix(NodeImport& n) {
  const Value x = n.input(0);
  std::int64_t axis = n.integer("axis", 1);
  if (axis < -x.rank() || axis > x.rank())
    throw FormatError(fmt::format("axis {} is out of range for {} axes", axis, x.rank()));
  if (axis < 0) axis += x.rank();
  const int at = static_cast<int>(axis);
  return {reshape(x, Shape{size_product(x.shape(), 0, at), size_product(x.shape(), at, x.rank())})};
}

std::vector<ImportedValue> transpose_axes(NodeImport& n) {
  const Value x = n.input(0);
  std::vector<int> order(static_cast<std::size_t>(x.rank()));
  std::iota(order.rbegin(), order.rend(), 0);
  if (const auto given = n.integers("perm")) {
    order.clear();
    for (const std::int64_t axis : *given) order.push_back(n.normalised_axis(axis, x.rank()));
  }
  return {permute(x, order)};
}

std::vector<ImportedValue> squeeze_axes(NodeImport& n) {
  const Value x = n.input(0);
  std::optional<Sizes> axes;
  if (n.opset() < 13) axes = n.integers("axes");
  if (n.opset() >= 13 && n.has(1)) axes = n.known_integers(1);
  std::vector<bool> dropped(static_cast<std::size_t>(x.rank()));
  for (int i = 0; i < x.rank() && !axes; ++i)
    dropped[static_cast<std::size_t>(i)] = x.shape()[i] == Dim(1);
  for (const std::int64_t axis : axes.value_or(Sizes{}))
    dropped[static_cast<std::size_t>(n.normalised_axis(axis, x.rank()))] = true;
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (!dropped[static_cast<std::size_t>(i)]) {
      shape.push_back(x.shape()[i]);
    } else {
      require_equal(n, x.shape()[i], 1);
      if (x.shape()[i].is_constant() && x.shape()[i] != Dim(1)) {
        throw FormatError(fmt::format("axis {} of {} does not have size 1", i, x.type().str()));
      }
    }
  }
  return {reshaped(n, x, shape)};
}

std::vector<ImportedValue> unsqueeze_axes(NodeImport& n) {
  const Value x = n.input(0);
  const Sizes axes = n.opset() >= 13 ? n.known_integers(1) : n.integers("axes").value_or(Sizes{});
  const int rank = x.rank() + static_cast<int>(axes.size());
  std::vector<bool> added(static_cast<std::size_t>(rank));
  for (const std::int64_t axis : axes) {
    const auto at = static_cast<std::size_t>(n.normalised_axis(axis, rank));
    if (added[at]) throw FormatError(fmt::format("axis {} is given twice", axis));
    added[at] = true;
  }
  Shape shape;
  int from = 0;
  for (int i = 0; i < rank; ++i)
    shape.push_back(added[static_cast<std::size_t>(i)] ? Dim(1) : x.shape()[from++]);
  return {reshape(x, shape)};
}

std::vector<ImportedValue> concatenate(NodeImport& n) {
  const std::vector<Value> xs = n.inputs();
  const int rank = xs.front().rank();
  const int axis =
      n.opset() >= 4 ? n.normalised_axis(n.integer("axis"), rank) : n.axis("axis", 1, rank);
  for (const Value& x : xs) {
    for (int i = 0; i < rank && x.rank() == rank; ++i)
      if (i != axis) require_equal(n, x.shape()[i], xs.front().shape()[i]);
  }
  return {concat(xs, axis)};
}

// -- Repetition -----------------------------------------------------------------------------------

std::vector<ImportedValue> expand_values(NodeImport& n) {
  const Value x = n.input(0);
  Shape shape(n.sizes(1));
  const int rank = std::max(x.rank(), shape.rank());
  std::vector<Dim> sizes(static_cast<std::size_t>(rank), Dim(1));
  std::copy(shape.begin(), shape.end(), sizes.end() - shape.rank());
  shape = Shape(std::move(sizes));
  for (int i = 0; i < x.rank(); ++i) {
    Dim& to = shape[rank - x.rank() + i];
    if (x.shape()[i] == Dim(1)) continue;
    if (to != Dim(1)) require_equal(n, x.shape()[i], to);
    if (to == Dim(1) || !to.is_constant()) to = x.shape()[i];
  }
  return {broadcast_to(x, shape)};
}

/// Repeats x repeats[i] times along axis i.
Value tiled(Value x, const std::vector<Dim>& repeats) {
  if (static_cast<int>(repeats.size()) != x.rank()) {
    throw FormatError(fmt::format("there are {} repeats for the {} axes of {}", repeats.size(),
                                  x.rank(), x.type().str()));
  }
  Shape separate, repeated, merged;
  for (int i = 0; i < x.rank(); ++i) {
    const Dim& times = repeats[static_cast<std::size_t>(i)];
    if (times != Dim(1)) {
      separate.push_back(1);
      repeated.push_back(times);
    }
    separate.push_back(x.shape()[i]);
    repeated.push_back(x.shape()[i]);
    merged.push_back(x.shape()[i] * times);
  }
  if (separate.rank() == x.rank()) return x;
  return reshape(broadcast_to(reshape(x, separate), repeated), merged);
}

std::vector<ImportedValue> tile_values(NodeImport& n) {
  const Value x = n.input(0);
  if (n.opset() >= 6) return {tiled(x, n.sizes(1))};
  std::vector<Dim> repeats(static_cast<std::size_t>(x.rank()), Dim(1));
  repeats[static_cast<std::size_t>(n.normalised_axis(n.known_integer(2), x.rank()))] = n.size(1);
  return {tiled(x, repeats)};
}

// -- Generated tensors ----------------------------------------------------------------------------

std::vector<ImportedValue> constant_of_shape(NodeImport& n) {
  const Shape shape(n.sizes(0));
  const Tensor value = n.tensor("value").value_or(Tensor::scalar(DType::f32, 0));
  if (value.numel() != 1)
    throw FormatError(fmt::format("value must have one element, but is {}", value.type_str()));
  const Value element = n.graph().constant(value.reshape({}));
  return {shape.rank() == 0 ? element : broadcast_to(element, shape)};
}

std::vector<ImportedValue> range_values(NodeImport& n) {
  Graph& graph = n.graph();
  const DType dtype = n.input(0).dtype();
  if (is_floating(dtype)) {
    const double start = n.known_real(0), limit = n.known_real(1), delta = n.known_real(2);
    const double count = std::ceil((limit - start) / delta);
    if (!(std::abs(count) < 0x1p47))
      throw FormatError(fmt::format("the range from {} to {} has no end", start, limit));
    const auto steps = std::max<std::int64_t>(static_cast<std::int64_t>(count), 0);
    return {add(mul(arange(graph, steps, dtype), delta), start)};
  }
  const Dim start = n.size(0), limit = n.size(1);
  const std::int64_t delta = n.known_integer(2);
  if (delta == 0) throw FormatError("the step of the range is 0");
  const Dim span = delta > 0 ? limit - start : start - limit;
  const Dim step = delta > 0 ? Dim(delta) : -Dim(delta);
  Dim count = floor_div(span + step - 1, step);
  if (count.is_constant()) count = std::max<std::int64_t>(count.constant(), 0);
  Value values = arange(graph, count, dtype);
  if (delta != 1) values = mul(values, delta);
  if (start != Dim(0)) values = add(values, dim_value(graph, start, dtype));
  return {values};
}

/// Returns the difference of column and row numbers of a matrix as i64 [rows, columns].
Value diagonal_numbers(Graph& graph, const Dim& rows, const Dim& columns) {
  return sub(iota(graph, {1, columns}, 1), iota(graph, {rows, 1}, 0));
}

std::vector<ImportedValue> eye_like(NodeImport& n) {
  const Value x = n.input(0);
  if (x.rank() != 2)
    throw FormatError(fmt::format("the operand must have 2 axes, but is {}", x.type().str()));
  const DType dtype = dtype_attribute(n, "dtype", x.dtype());
  const Value diagonal = diagonal_numbers(n.graph(), x.shape()[0], x.shape()[1]);
  return {cast(equal(diagonal, n.integer("k", 0)), dtype)};
}

std::vector<ImportedValue> trilu(NodeImport& n) {
  const Value x = n.input(0);
  if (x.rank() < 2)
    throw FormatError(fmt::format("the operand must have 2 axes, but is {}", x.type().str()));
  const bool upper = n.flag("upper", true);
  if (!n.has(1)) return {upper ? triu(x) : tril(x)};
  const Value k = n.input(1);
  if (n.known(k)) {
    const std::int64_t diagonal = n.known_integer(1);
    return {upper ? triu(x, diagonal) : tril(x, diagonal)};
  }
  const Value diagonal = diagonal_numbers(n.graph(), x.size(-2), x.size(-1));
  const Value bound = reshape(k, Shape{});
  const Value kept = upper ? greater_equal(diagonal, bound) : less_equal(diagonal, bound);
  return {where(kept, x, zeros(n.graph(), x.dtype(), Shape{}))};
}

// -- Blocks ---------------------------------------------------------------------------------------

std::int64_t block_size(NodeImport& n, Value x) {
  const std::int64_t size = n.integer("blocksize");
  if (size < 1 || size > (1 << 20) || x.rank() != 4) {
    throw FormatError(
        fmt::format("the operand must be [N, C, H, W] and blocksize positive, but "
                    "they are {} and {}",
                    x.type().str(), size));
  }
  return size;
}

std::vector<ImportedValue> depth_to_space(NodeImport& n) {
  const Value x = n.input(0);
  const std::int64_t b = block_size(n, x);
  const std::string mode = n.opset() >= 11 ? n.text("mode", "DCR") : "DCR";
  if (mode != "DCR" && mode != "CRD") n.unsupported(fmt::format("mode '{}'", mode));
  const Dim depth = floor_div(x.shape()[1], Dim(b * b));
  const Dim height = x.shape()[2], width = x.shape()[3];
  const bool column_first = mode == "CRD";
  const Value blocks =
      column_first ? split_axis(n, x, 1, {depth, b, b}) : split_axis(n, x, 1, {b, b, depth});
  const std::vector<int> order =
      column_first ? std::vector<int>{0, 1, 4, 2, 5, 3} : std::vector<int>{0, 3, 4, 1, 5, 2};
  return {
      reshape(permute(blocks, order), Shape{x.shape()[0], depth, height * Dim(b), width * Dim(b)})};
}

std::vector<ImportedValue> space_to_depth(NodeImport& n) {
  const Value x = n.input(0);
  const std::int64_t b = block_size(n, x);
  const Dim height = floor_div(x.shape()[2], Dim(b)), width = floor_div(x.shape()[3], Dim(b));
  const Value blocks = reshaped(n, x, Shape{x.shape()[0], x.shape()[1], height, b, width, b});
  return {reshape(permute(blocks, {0, 3, 5, 1, 2, 4}),
                  Shape{x.shape()[0], x.shape()[1] * Dim(b * b), height, width})};
}

constexpr Operator kShapeOperators[] = {
    {"Reshape", 1, reshape_values},
    {"Flatten", 1, flatten_to_matrix},
    {"Transpose", 1, transpose_axes},
    {"Squeeze", 1, squeeze_axes},
    {"Unsqueeze", 1, unsqueeze_axes},
    {"Concat", 1, concatenate},
    {"Expand", 8, expand_values},
    {"Tile", 1, tile_values},
    {"ConstantOfShape", 9, constant_of_shape},
    {"Range", 11, range_values},
    {"EyeLike", 9, eye_like},
    {"Trilu", 14, trilu},
    {"DepthToSpace", 1, depth_to_space},
    {"SpaceToDepth", 1, space_to_depth},
};

}  // namespace

std::span<const Operator> shape_operators() { return kShapeOperators; }

}  // namespace weft::onnx

#include "weft/serialization/onnx/import/operators/pixels.h"

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/shape.h"

namespace weft::onnx {
namespace {

Value both_inside(Value a, Value b) {
  return !a.defined() ? b : !b.defined() ? a : logical_and(a, b);
}
Value weight_product(Value a, Value b) { return !a.defined() ? b : !b.defined() ? a : mul(a, b); }

// Adds the pixels of all combinations of neighbours along the axes from `axis` on. `partial`
// combines those of the axes before, and its place is the number of a row.
void add_pixels(Value rows, const std::vector<std::vector<Neighbour>>& axes,
                const std::vector<Dim>& sizes, std::size_t axis, const Neighbour& partial,
                Value& sum) {
  if (axis == axes.size()) {
    Value pixels = take(rows, partial.place);
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

}  // namespace

Value size_number(Graph& graph, const Dim& size, DType dtype) {
  return size.is_constant() ? graph.scalar(dtype, static_cast<double>(size.constant()))
                            : dim_value(graph, size, dtype);
}

Value pixel_rows(Value x) {
  std::vector<int> order{0};
  for (int axis = 2; axis < x.rank(); ++axis) order.push_back(axis);
  order.push_back(1);
  const Value last = permute(x, order);
  Dim rows = 1;  // not a quotient, because there may be no channels
  for (int axis = 0; axis + 1 < last.rank(); ++axis) rows *= last.shape()[axis];
  return reshape(last, Shape{rows, x.shape()[1]});
}

std::vector<Neighbour> linear_neighbours(Value position, const Dim& size) {
  const Value count = size_number(position.graph(), size, position.dtype());
  const Value first = floor(position), rest = position - first;
  const auto neighbour = [&](Value place, Value weight) {
    return Neighbour{cast(maximum(minimum(place, count - 1), 0), DType::i64), weight,
                     logical_and(place >= 0, place < count)};
  };
  return {neighbour(first, 1 - rest), neighbour(first + 1, rest)};
}

Value weighted_pixels(Value rows, Value image, const std::vector<std::vector<Neighbour>>& axes,
                      const std::vector<Dim>& sizes) {
  Value sum;
  add_pixels(rows, axes, sizes, 0, {image, {}, {}}, sum);
  return sum;
}

}  // namespace weft::onnx

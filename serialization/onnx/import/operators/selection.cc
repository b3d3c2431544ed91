// Operators whose result has a size that depends on data. They are computed when the file is read,
// and rejected if the data is not known then.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "weft/core/error.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/operators.h"

namespace weft::onnx {
namespace {

Value index_constant(NodeImport& n, Sizes sizes, const std::vector<std::int64_t>& values) {
  return n.graph().constant(Tensor::of<std::int64_t>(std::move(sizes), values));
}
Value index_list(NodeImport& n, const std::vector<std::int64_t>& values) {
  return index_constant(n, {static_cast<std::int64_t>(values.size())}, values);
}

std::vector<ImportedValue> compress(NodeImport& n) {
  const Value x = n.input(0);
  const Tensor condition = n.known_input(1);
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < condition.numel(); ++i)
    if (condition.at(i) != 0) chosen.push_back(i);
  const bool flat = !n.has_attribute("axis");
  return {
      take(flat ? flatten(x) : x, index_list(n, chosen), flat ? 0 : n.axis("axis", 0, x.rank()))};
}

std::vector<ImportedValue> non_zero(NodeImport& n) {
  const Value x = n.input(0);
  // NonZero(ConstantOfShape(shape)), from which exporters compute ranges, lists all positions, also
  // of a symbolic shape.
  if (x.node().op().name == "broadcast_to" && x.rank() == 1) {
    const auto element = n.known(x.node().input(0));
    if (element && element->numel() == 1 && element->at(0) != 0)
      return {unsqueeze(arange(n.graph(), x.shape()[0]), 0)};
  }
  const Tensor values = n.known_input(0);
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < values.numel(); ++i)
    if (values.at(i) != 0) places.push_back(i);
  const auto count = static_cast<std::int64_t>(places.size());
  const Sizes strides = row_major_strides(values.sizes());
  std::vector<std::int64_t> coordinates;
  for (std::size_t axis = 0; axis < strides.size(); ++axis) {
    for (const std::int64_t place : places)
      coordinates.push_back(place / strides[axis] % values.sizes()[axis]);
  }
  return {index_constant(n, {static_cast<std::int64_t>(strides.size()), count}, coordinates)};
}

/// Compares elements. A NaN is larger than all numbers.
template <class T>
bool element_less(T a, T b) {
  if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
    return element_less(to_float(a), to_float(b));
  } else {
    return a < b || (a == a && b != b);
  }
}

/// Returns the numbers of the slices of x along `axis` in the order of their elements; equal slices
/// keep their order. Sets starts_group[i] if slice order[i] differs from the one before.
template <class T>
std::vector<std::int64_t> ordered_slices(const Tensor& x, int axis,
                                         std::vector<bool>& starts_group) {
  const std::int64_t count = x.size(axis);
  const std::int64_t inner = row_major_strides(x.sizes())[static_cast<std::size_t>(axis)];
  const std::int64_t outer = count == 0 ? 0 : x.numel() / (count * inner);
  const T* data = x.data<T>();
  const auto before = [&](std::int64_t a, std::int64_t b) {
    for (std::int64_t o = 0; o < outer; ++o) {
      const T *left = data + (o * count + a) * inner, *right = data + (o * count + b) * inner;
      for (std::int64_t i = 0; i < inner; ++i) {
        if (element_less(left[i], right[i])) return true;
        if (element_less(right[i], left[i])) return false;
      }
    }
    return false;
  };
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), before);
  for (std::size_t i = 0; i < order.size(); ++i)
    starts_group.push_back(i == 0 || before(order[i - 1], order[i]));
  return order;
}

std::vector<ImportedValue> unique_values(NodeImport& n) {
  Tensor x = n.known_input(0);
  const bool flat = !n.has_attribute("axis");
  const int axis = flat ? 0 : n.axis("axis", 0, x.rank());
  if (flat) x = x.reshape({x.numel()});
  std::vector<bool> starts_group;
  const auto order = visit_dtype(x.dtype(), [&](auto tag) {
    return ordered_slices<typename decltype(tag)::type>(x, axis, starts_group);
  });
  // The first slice of each group, the group of each slice, and the sizes of the groups.
  std::vector<std::int64_t> first, group(order.size()), sizes;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (starts_group[i]) {
      first.push_back(order[i]);
      sizes.push_back(0);
    }
    group[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(first.size()) - 1;
    ++sizes.back();
  }
  if (!n.flag("sorted", true)) {
    std::vector<std::int64_t> by_place(first.size()), rank(first.size());
    std::iota(by_place.begin(), by_place.end(), std::int64_t{0});
    const auto at = [](auto& values, std::int64_t i) {
      return values[static_cast<std::size_t>(i)];
    };
    std::sort(by_place.begin(), by_place.end(),
              [&](std::int64_t a, std::int64_t b) { return at(first, a) < at(first, b); });
    const auto old_first = first, old_sizes = sizes;
    for (std::size_t i = 0; i < by_place.size(); ++i) {
      rank[static_cast<std::size_t>(by_place[i])] = static_cast<std::int64_t>(i);
      first[i] = at(old_first, by_place[i]);
      sizes[i] = at(old_sizes, by_place[i]);
    }
    for (std::int64_t& g : group) g = at(rank, g);
  }
  const Value values = take(n.graph().constant(x), index_list(n, first), axis);
  return {values, index_list(n, first), index_list(n, group), index_list(n, sizes)};
}

constexpr Operator kSelectionOperators[] = {
    {"Compress", 9, compress},
    {"NonZero", 9, non_zero},
    {"Unique", 11, unique_values},
};

}  // namespace

std::span<const Operator> selection_operators() { return kSelectionOperators; }

}  // namespace weft::onnx

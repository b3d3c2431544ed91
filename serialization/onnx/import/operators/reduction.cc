// Reductions, cumulative sums, and positions of extremes.
#include <algorithm>
#include <limits>

#include "weft/core/integer_range.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/numeric.h"

namespace weft::onnx {
namespace {

// The axes of a reduction, and whether they are kept with size 1.
struct ReducedAxes {
  std::vector<int> axes;
  bool keep;
};

ReducedAxes reduced_axes(NodeImport& n) {
  const int rank = n.input(0).rank();
  const auto axes = n.operand_or_attribute(1, "axes");
  const bool none = n.flag("noop_with_empty_axes");
  const bool keep = n.flag("keepdims", true);
  if (axes && !axes->empty()) return {normalised_axes(n, *axes, rank), keep};
  return {none ? std::vector<int>() : axes_between(0, rank), keep};
}

using Reduce = Value (*)(Arg x, const Axes& axes, bool keepdims);

// Translates a reduction. `function` gets integers as integers, f32 or f64.
template <class Function>
std::vector<ImportedValue> reduction(NodeImport& n, Function function) {
  const Value x = n.input(0);
  const auto [axes, keep] = reduced_axes(n);
  return {cast(function(widened(x), axes, keep), x.dtype())};
}

// As above. Integers are computed in f64.
template <class Function>
std::vector<ImportedValue> floating_reduction(NodeImport& n, Function function) {
  return reduction(n, [&](Value x, const std::vector<int>& axes, bool keep) {
    return function(is_integer(x.dtype()) ? cast(x, DType::f64) : x, axes, keep);
  });
}

template <Reduce reduce>
std::vector<ImportedValue> plain_reduction(NodeImport& n) {
  return reduction(n, reduce);
}

std::vector<ImportedValue> reduce_mean(NodeImport& n) {
  return reduction(n, [](Value x, const std::vector<int>& axes, bool keep) {
    if (!is_integer(x.dtype())) return mean(x, axes, keep);
    return sum(x, axes, keep) /
           dim_value(x.graph(), number_of_elements(x.shape(), axes), x.dtype());
  });
}

std::vector<ImportedValue> reduce_l1(NodeImport& n) {
  return reduction(
      n, [](Value x, const std::vector<int>& axes, bool keep) { return sum(abs(x), axes, keep); });
}

std::vector<ImportedValue> reduce_l2(NodeImport& n) {
  return floating_reduction(
      n, [](Value x, const std::vector<int>& axes, bool keep) { return norm(x, axes, keep); });
}

std::vector<ImportedValue> reduce_sum_square(NodeImport& n) {
  return reduction(n, [](Value x, const std::vector<int>& axes, bool keep) {
    return sum(square(x), axes, keep);
  });
}

std::vector<ImportedValue> reduce_log_sum(NodeImport& n) {
  return floating_reduction(
      n, [](Value x, const std::vector<int>& axes, bool keep) { return log(sum(x, axes, keep)); });
}

std::vector<ImportedValue> reduce_log_sum_exp(NodeImport& n) {
  return floating_reduction(
      n, [](Value x, const std::vector<int>& axes, bool keep) { return logsumexp(x, axes, keep); });
}

// Returns the maximum (minimum) of nothing: the smallest (largest) number of the dtype.
Value extreme_of_nothing(Graph& graph, DType dtype, bool largest) {
  if (is_floating(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return graph.scalar(dtype, largest ? -infinity : infinity);
  }
  const IntegerRange range = integer_range(dtype);
  return cast(graph.constant(Tensor::of<std::int64_t>({}, {largest ? range.low : range.high})),
              dtype);
}

template <bool largest>
std::vector<ImportedValue> reduce_extreme(NodeImport& n) {
  const Value x = n.input(0);
  const auto [axes, keep] = reduced_axes(n);
  if (x.dtype() == DType::boolean) return {largest ? any(x, axes, keep) : all(x, axes, keep)};
  if (number_of_elements(x.shape(), axes) == Dim(0)) {
    Shape shape;
    for (int i = 0; i < x.rank(); ++i) {
      const bool reduced = std::find(axes.begin(), axes.end(), i) != axes.end();
      if (!reduced || keep) shape.push_back(reduced ? Dim(1) : x.size(i));
    }
    return {broadcast_to(extreme_of_nothing(n.graph(), x.dtype(), largest), shape)};
  }
  const Value y = widened(x);
  return {cast(largest ? max(y, axes, keep) : min(y, axes, keep), x.dtype())};
}

template <bool largest>
std::vector<ImportedValue> position_of_extreme(NodeImport& n) {
  Value x = widened(n.input(0));
  const int axis = n.axis("axis", 0, x.rank());
  const bool keep = n.flag("keepdims", true), last = n.flag("select_last_index");
  if (last) x = flip(x, axis);
  const Value position = largest ? argmax(x, axis, keep) : argmin(x, axis, keep);
  if (!last) return {position};
  return {dim_value(n.graph(), x.size(axis) - 1) - position};
}

std::vector<ImportedValue> cumulative_sum(NodeImport& n) {
  const Value x = n.input(0);
  const int axis = n.normalised_axis(n.known_integer(1), x.rank());
  const bool exclusive = n.flag("exclusive"), reverse = n.flag("reverse");
  return {cast(cumsum(widened(x), axis, {.exclusive = exclusive, .reverse = reverse}), x.dtype())};
}

std::vector<ImportedValue> top_k(NodeImport& n) {
  const Value x = n.input(0);
  const Dim k = n.opset() < 10 ? Dim(n.integer("k")) : n.size(1);
  const int axis = n.axis("axis", -1, x.rank());
  const bool largest = n.flag("largest", true);
  n.skip_attribute("sorted");  // an unsorted result may have any order
  Sorted sorted;
  if (k.is_constant()) {
    sorted = topk(widened(x), k.constant(), axis, largest);
  } else {
    sorted = sort(widened(x), axis, largest);
    if (k != x.shape()[axis]) {
      sorted = {slice(sorted.values, axis, {0, k, 1}), slice(sorted.indices, axis, {0, k, 1})};
    }
  }
  return {cast(sorted.values, x.dtype()), sorted.indices};
}

constexpr Operator kReductions[] = {
    {"ReduceSum", 1, plain_reduction<sum>},
    {"ReduceProd", 1, plain_reduction<prod>},
    {"ReduceMean", 1, reduce_mean},
    {"ReduceL1", 1, reduce_l1},
    {"ReduceL2", 1, reduce_l2},
    {"ReduceSumSquare", 1, reduce_sum_square},
    {"ReduceLogSum", 1, reduce_log_sum},
    {"ReduceLogSumExp", 1, reduce_log_sum_exp},
    {"ReduceMax", 1, reduce_extreme<true>},
    {"ReduceMin", 1, reduce_extreme<false>},
    {"ArgMax", 1, position_of_extreme<true>},
    {"ArgMin", 1, position_of_extreme<false>},
    {"CumSum", 11, cumulative_sum},
    {"TopK", 1, top_k},
};

}  // namespace

std::span<const Operator> reduction_operators() { return kReductions; }

}  // namespace weft::onnx

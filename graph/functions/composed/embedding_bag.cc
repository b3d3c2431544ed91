#include "weft/graph/functions/composed/embedding_bag.h"

#include <fmt/format.h>

#include <limits>

#include "weft/core/error.h"
#include "weft/graph/control/cond.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

constexpr const char* kBagName = "embedding_bag";

void check_bags(Value ids, Value weight, const EmbeddingBagOptions& o, SourceLocation loc) {
  const auto fail = [&](const Error& error) {
    ids.graph().fail(error, kBagName, {ids, weight}, loc);
  };
  const bool flat = o.offsets.present();
  if (ids.rank() != (flat ? 1 : 2)) {
    fail(ShapeError(fmt::format("ids must be {}, but are {}",
                                flat ? "[n] with offsets" : "[bags, n], or [n] with offsets",
                                ids.type().str())));
  }
  if (weight.rank() != 2) {
    fail(ShapeError(
        fmt::format("weight must be [vocabulary, width], but is {}", weight.type().str())));
  }
  if (flat && o.lengths.present()) {
    fail(ArgumentError("lengths cannot be combined with offsets: they require ids [bags, n]"));
  }
  if (o.factors.present() && o.reduction != BagReduction::sum) {
    fail(ArgumentError("factors require BagReduction::sum"));
  }
  const OptionalArg& counts = flat ? o.offsets : o.lengths;
  const auto are_counts = [&](const ValueType& type) {
    return (type.dtype == DType::i32 || type.dtype == DType::i64) && type.shape.rank() == 1 &&
           (flat || ids.graph().facts().equal(type.shape[0], ids.shape()[0]));
  };
  if (counts.present() && !are_counts(counts.value().type())) {
    fail(ShapeError(fmt::format("{} must be i32 or i64 [bags], but are {}",
                                flat ? "offsets" : "lengths", counts.value().type().str())));
  }
  if (o.factors.present() && o.factors.value().type() != ValueType{weight.dtype(), ids.shape()}) {
    fail(ShapeError(
        fmt::format("factors must have the shape of ids and the dtype of weight, {}, but are {}",
                    ValueType{weight.dtype(), ids.shape()}.str(), o.factors.value().type().str())));
  }
}

Value looked_up(Value ids, Value weight, const EmbeddingBagOptions& o) {
  const Value rows = embedding(ids, weight);
  return o.factors.present() ? rows * unsqueeze(o.factors.value(), -1) : rows;
}

// Returns, for each row i and each column, the index of the running maximum in the bag of row i:
// the row up to i with the largest element. Of several equal elements, the first one is used, and
// the first NaN counts as largest. begin[i] is the first row of the bag of row i. Each step doubles
// a window that ends at i, down to the beginning of the bag, so log2(length of the longest bag)
// steps suffice; a scan over the rows would need one step per row. The indices need no gradient.
Value running_argmax(Value rows, Value begin) {
  Graph& graph = rows.graph();
  const Value places = arange(graph, rows.shape()[0]);
  const Value column = zeros(graph, DType::i64, {Dim(1), rows.shape()[1]});
  const Value longest = max(places - begin + 1);
  const auto has_longer_bags = [](Graph&, const std::vector<Value>& in) {
    return std::vector<Value>{less(in[2], in[4])};
  };
  const auto double_reach = [](Graph& body, const std::vector<Value>& in) {
    const Value &best = in[0], &at = in[1], &reach = in[2], &first = in[3];
    // The preceding window. At the beginning of a bag it overlaps this one, which does not change
    // the maximum.
    const Value before = maximum(arange(body, first.shape()[0]) - reach, first);
    const Value earlier = take(best, before);
    const Value keep = logical_or(greater_equal(earlier, best), not_equal(earlier, earlier));
    return std::vector<Value>{where(keep, earlier, best), where(keep, take(at, before), at),
                              reach * 2};
  };
  constexpr std::int64_t kSteps = 63;  // a tensor has fewer than 2^63 rows
  return while_loop(
      graph, {stop_gradient(rows), unsqueeze(places, 1) + column, graph.scalar(DType::i64, 1)},
      has_longer_bags, double_reach, kSteps,
      {.operands = {begin, longest}, .name = "largest_in_bag"})[1];
}

// Returns the elementwise maximum over each bag, [bags, width]. `bag` is the bag of each row and
// `sizes` the number of rows of each bag.
Value flat_maximum(Value rows, Value bag, Value sizes) {
  Graph& graph = rows.graph();
  const Dim& width = rows.shape()[1];
  const Value end = cumsum(sizes, 0);
  // Row 0 is a row of zeros for empty bags; the looked-up rows follow it.
  const Value all = concat({zeros(graph, rows.dtype(), {Dim(1), width}), rows});
  const Value begin = concat({zeros(graph, DType::i64, {Dim(1)}), take(end - sizes, bag) + 1});
  const Value last = where(sizes > 0, end, 0);
  return take_along_axis(all, take(running_argmax(all, begin), last), 0);
}

// Reduces bags that are concatenated in ids [n].
Value flat_bags(Value ids, Value weight, const EmbeddingBagOptions& o) {
  Graph& graph = ids.graph();
  const Dim count = ids.shape()[0], bags = o.offsets.value().shape()[0];
  // The cumulative sum below would silently treat unsorted offsets as sorted ones, so they are
  // checked.
  const Value offsets =
      graph.apply("require_offsets", {o.offsets.value()}, {{"count", count}}).output(0);
  // The number of bags that begin at or before each id. An empty bag begins at the same position as
  // the next bag.
  const Value begun = cumsum(
      index_add(zeros(graph, DType::i64, {count + 1}), offsets, ones(graph, DType::i64, {bags})),
      0);
  const Value bag = slice(begun, 0, {.end = count}) - 1;
  const Value rows = looked_up(ids, weight, o);
  if (o.reduction == BagReduction::max) {
    const Value sizes =
        index_add(zeros(graph, DType::i64, {bags}), bag, ones(graph, DType::i64, {count}));
    return flat_maximum(rows, bag, sizes);
  }
  const Value sums = index_add(zeros(graph, weight.dtype(), {bags, weight.shape()[1]}), bag, rows);
  if (o.reduction == BagReduction::sum) return sums;
  const Value sizes =
      index_add(zeros(graph, weight.dtype(), {bags}), bag, ones(graph, weight.dtype(), {count}));
  return sums / unsqueeze(maximum(sizes, 1), 1);
}

// Reduces padded bags, one per row of ids [bags, n].
Value padded_bags(Value ids, Value weight, const EmbeddingBagOptions& o) {
  Graph& graph = ids.graph();
  const Value rows = looked_up(ids, weight, o);
  const Dim& longest = ids.shape()[1];
  const Value all = dim_value(graph, longest);
  const Value lengths = o.lengths.present() ? minimum(cast(o.lengths.value(), DType::i64), all)
                                            : full(graph, DType::i64, {ids.shape()[0]}, 0) + all;
  const Value counts = unsqueeze(lengths, 1);  // [bags, 1]
  const Value counted = unsqueeze(arange(graph, longest) < counts, 2);
  if (o.reduction == BagReduction::max) {
    constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
    Value seen = where(counted, rows, kMinusInfinity);
    // The maximum of zero elements is undefined. If n may be 0, each bag gets an extra row of -inf.
    if (!longest.is_constant() || longest == Dim(0))
      seen = pad(seen, {{0, 0}, {0, 1}, {0, 0}}, {.value = kMinusInfinity});
    // Only the first of several equal maxima receives the gradient, whereas max() would divide it
    // among them.
    const Value largest = take_along_axis(seen, argmax(seen, 1, true), 1);
    return where(counts > 0, squeeze(largest, {1}), 0.0);
  }
  const Value sums = sum(where(counted, rows, 0.0), 1);
  return o.reduction == BagReduction::sum ? sums : sums / cast(maximum(counts, 1), weight.dtype());
}

}  // namespace

Value embedding_bag(Arg ids, Arg weight, const EmbeddingBagOptions& options) {
  const Value i = ids.value(kBagName), w = weight.value(kBagName);
  check_bags(i, w, options, ids.location());
  const Graph::Frame frame(i.graph(), kBagName, ids.location());
  return options.offsets.present() ? flat_bags(i, w, options) : padded_bags(i, w, options);
}

}  // namespace weft

#include "weft/graph/functions/embedding_bag.h"

#include <fmt/format.h>

#include <limits>

#include "weft/core/error.h"
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
    fail(ShapeError(
        fmt::format("ids must be {}, but are {}",
                    flat ? "[n] where there are offsets" : "[bags, n], or [n] with offsets",
                    ids.type().str())));
  }
  if (weight.rank() != 2) {
    fail(ShapeError(
        fmt::format("weight must be [vocabulary, width], but is {}", weight.type().str())));
  }
  if (flat && o.lengths.present()) {
    fail(ArgumentError("offsets say where bags end: lengths are for ids [bags, n]"));
  }
  if (flat && o.reduction == BagReduction::max) {
    fail(ArgumentError("there is no maximum by offsets: give ids [bags, n] with lengths"));
  }
  if (o.factors.present() && o.reduction != BagReduction::sum) {
    fail(ArgumentError("factors are for BagReduction::sum"));
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
        fmt::format("factors must be of the ids' shape and the weight's dtype, {}, but "
                    "are {}",
                    ValueType{weight.dtype(), ids.shape()}.str(), o.factors.value().type().str())));
  }
}

Value looked_up(Value ids, Value weight, const EmbeddingBagOptions& o) {
  const Value rows = embedding(ids, weight);
  return o.factors.present() ? rows * unsqueeze(o.factors.value(), -1) : rows;
}

// Bags one after the other.
Value flat_bags(Value ids, Value weight, const EmbeddingBagOptions& o) {
  Graph& graph = ids.graph();
  const Value offsets = o.offsets.value();
  const Dim count = ids.shape()[0], bags = offsets.shape()[0];
  // How many bags begin up to each id; several begin at one place where some are empty.
  const Value begun = cumsum(
      index_add(zeros(graph, DType::i64, {count + 1}), offsets, ones(graph, DType::i64, {bags})),
      0);
  const Value bag = slice(begun, 0, {.end = count}) - 1;
  const Value sums = index_add(zeros(graph, weight.dtype(), {bags, weight.shape()[1]}), bag,
                               looked_up(ids, weight, o));
  if (o.reduction == BagReduction::sum) return sums;
  const Value sizes =
      index_add(zeros(graph, weight.dtype(), {bags}), bag, ones(graph, weight.dtype(), {count}));
  return sums / unsqueeze(maximum(sizes, 1), 1);
}

// A bag per row, padded.
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
    constexpr double kNothing = -std::numeric_limits<double>::infinity();
    Value seen = where(counted, rows, kNothing);
    // Nothing has no maximum: where there may be no ids at all, each bag has one more row.
    if (!longest.is_constant() || longest == Dim(0))
      seen = pad(seen, {{0, 0}, {0, 1}, {0, 0}}, {.value = kNothing});
    return where(counts > 0, max(seen, 1), 0.0);
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

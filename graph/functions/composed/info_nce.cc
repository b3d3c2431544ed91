#include "weft/graph/functions/composed/info_nce.h"

#include <fmt/format.h>

#include <limits>

#include "weft/core/error.h"
#include "weft/core/option.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

constexpr const char* kInfoNceName = "info_nce";

void check_contrastive(const Value& queries, const Value& keys, const InfoNceOptions& o,
                       SourceLocation loc) {
  const auto fail = [&](const Error& error) {
    queries.graph().fail(error, kInfoNceName, {queries, keys}, loc);
  };
  const auto equal = [&](const Dim& a, const Dim& b) {
    return queries.graph().facts().equal(a, b);
  };
  const auto same = [&](const Value& v, int axis, int queries_axis) {
    return equal(v.shape()[axis], queries.shape()[queries_axis]);
  };
  if (queries.dtype() != DType::f32 && queries.dtype() != DType::f64) {
    fail(DTypeError(
        fmt::format("queries must be f32 or f64, but are {}", dtype_name(queries.dtype()))));
  }
  if (queries.rank() != 2) {
    fail(ShapeError(fmt::format("queries must be [n, d], but are {}", queries.shape().str())));
  }
  if (keys.dtype() != queries.dtype() || keys.rank() != 2 || !same(keys, 0, 0) ||
      !same(keys, 1, 1)) {
    fail(ShapeError(fmt::format("keys must have the dtype and shape of queries, {}, but are {}",
                                queries.type().str(), keys.type().str())));
  }
  if (o.negatives.present()) {
    const Value v = o.negatives.value();
    const bool shared = v.rank() == 2 && same(v, 1, 1);
    const bool own = v.rank() == 3 && same(v, 0, 0) && same(v, 2, 1);
    if (v.dtype() != queries.dtype() || (!shared && !own)) {
      const Dim &n = queries.shape()[0], &d = queries.shape()[1];
      fail(ShapeError(fmt::format("negatives must be {} [m, {}] or [{}, m, {}], but are {}",
                                  dtype_name(queries.dtype()), d.str(), n.str(), d.str(),
                                  v.type().str())));
    }
    if (o.symmetric) fail(ArgumentError("symmetric cannot be combined with negatives"));
  }
  if (!o.in_batch && !o.negatives.present()) {
    fail(ArgumentError("in_batch is false, so negatives are required"));
  }
  if (o.excluded.present()) {
    const Value v = o.excluded.value();
    const bool shared = !o.negatives.present() || o.negatives.value().rank() == 2;
    if (!o.in_batch || !shared)
      fail(
          ArgumentError("excluded requires in_batch and cannot be combined with negatives of "
                        "every query [n, m, d]"));
    const Dim& n = queries.shape()[0];
    const Dim columns = o.negatives.present() ? n + o.negatives.value().shape()[0] : n;
    if (v.dtype() != DType::boolean || v.rank() != 2 || !same(v, 0, 0) ||
        !equal(v.shape()[1], columns)) {
      fail(ShapeError(fmt::format("excluded must be {}, but is {}",
                                  ValueType{DType::boolean, Shape{n, columns}}.str(),
                                  v.type().str())));
    }
  }
  if (o.temperature.is_literal()) {
    const std::string error =
        option_error("temperature", o.temperature.literal(), Allowed::positive);
    if (!error.empty()) fail(ArgumentError(error));
  } else {
    const Value t = o.temperature.value(kInfoNceName);
    if (t.type() != ValueType{queries.dtype(), Shape{}}) {
      fail(ShapeError(fmt::format("temperature must be a number or {}, but is {}",
                                  ValueType{queries.dtype(), Shape{}}.str(), t.type().str())));
    }
  }
}

// Returns the scores of each query with its own negatives [n, m, d], or with negatives [m, d].
Value scores_with(const Value& queries, const Value& negatives) {
  if (negatives.rank() == 2) return matmul(queries, negatives, {.transpose_b = true});
  return squeeze(matmul(unsqueeze(queries, 1), negatives, {.transpose_b = true}), 1);
}

}  // namespace

Value info_nce(Arg queries, Arg keys, const InfoNceOptions& options) {
  Value q = queries.value(kInfoNceName), k = keys.value(kInfoNceName);
  check_contrastive(q, k, options, queries.location());
  Graph& graph = q.graph();
  const Graph::Frame frame(graph, kInfoNceName, queries.location());
  const auto scaled = [&](const Value& x) {
    return options.normalize ? x / maximum(norm(x, -1, true), 1e-12) : x;
  };
  // Dividing the queries instead of the scores leaves a plain product, which cross_entropy() fuses.
  q = scaled(q) / options.temperature;
  k = scaled(k);
  const Dim& n = q.shape()[0];
  Value negatives;
  if (options.negatives.present()) negatives = scaled(options.negatives.value());
  const CrossEntropyOptions loss{.reduction = options.reduction};
  if (!options.in_batch) {
    const Value own = sum(q * k, 1, true);
    return cross_entropy(concat({own, scores_with(q, negatives)}, 1), zeros(graph, DType::i64, {n}),
                         loss);
  }
  const Value row = arange(graph, n);
  if (negatives.defined() && negatives.rank() == 2) k = concat({k, negatives}, 0);
  Value scores = matmul(q, k, {.transpose_b = true});
  if (negatives.defined() && negatives.rank() == 3) {
    scores = concat({scores, scores_with(q, negatives)}, 1);
  }
  if (options.excluded.present()) {
    const Value column = arange(graph, scores.shape()[1]);
    const Value others = not_equal(unsqueeze(row, 1), unsqueeze(column, 0));
    scores = where(logical_and(options.excluded.value(), others),
                   -std::numeric_limits<double>::infinity(), scores);
  }
  const Value of_queries = cross_entropy(scores, row, loss);
  if (!options.symmetric) return of_queries;
  const Value of_keys =
      cross_entropy(scores, row, {.class_axis = 0, .reduction = options.reduction});
  return 0.5 * (of_queries + of_keys);
}

}  // namespace weft

// Gather and scatter.
#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/dims.h"
#include "weft/serialization/onnx/import/operators/rows.h"

namespace weft::onnx {
namespace {

std::vector<ImportedValue> gather_slices(NodeImport& n) {
  const Value x = n.input(0);
  const int axis = n.axis("axis", 0, x.rank());
  return {take(x, wrapped_index(n, n.input(1), x.shape()[axis]), axis)};
}

/// Throws FormatError unless index has the rank of x and its constant sizes do not exceed those of
/// x except along `axis`.
void check_element_index(Value x, Value index, int axis) {
  bool fits = index.rank() == x.rank();
  for (int i = 0; fits && i < x.rank(); ++i) {
    const Dim &a = index.shape()[i], &b = x.shape()[i];
    fits = i == axis || !a.is_constant() || !b.is_constant() || a.constant() <= b.constant();
  }
  if (fits) return;
  throw FormatError(fmt::format("indices {} do not fit the operand {} along all axes except {}",
                                index.type().str(), x.type().str(), axis));
}

std::vector<ImportedValue> gather_elements(NodeImport& n) {
  Value x = n.input(0);
  const Value index = n.input(1);
  const int axis = n.axis("axis", 0, x.rank());
  check_element_index(x, index, axis);
  std::vector<weft::Slice> kept(static_cast<std::size_t>(x.rank()));
  bool smaller = false;
  for (int i = 0; i < x.rank(); ++i) {
    if (i == axis || n.graph().facts().equal(index.shape()[i], x.shape()[i])) continue;
    kept[static_cast<std::size_t>(i)] = {0, index.shape()[i], 1};
    smaller = true;
  }
  if (smaller) x = slice(x, kept);
  return {take_along_axis(x, wrapped_index(n, index, x.shape()[axis]), axis)};
}

/// The rows of `x` that indices [..., m] of GatherND and ScatterND refer to.
struct IndexedRows {
  Value rows;    // x as [rows, rest...]
  Value number;  // the row of each index: i64, the shape of the indices without the last axis
};
IndexedRows indexed_rows(NodeImport& n, Value x, Value index, int batch_axes) {
  if (index.rank() < 1 || !index.size(-1).is_constant())
    n.unsupported(
        fmt::format("indices {}, the last size of which must be a number", index.type().str()));
  const auto count = index.size(-1).constant();
  if (batch_axes < 0 || batch_axes >= index.rank() || count > x.rank() - batch_axes) {
    throw FormatError(fmt::format("indices {} with {} batch axes do not fit the operand {}",
                                  index.type().str(), batch_axes, x.type().str()));
  }
  const int leading = batch_axes + static_cast<int>(count);
  std::vector<Dim> sizes(x.shape().begin(), x.shape().begin() + leading);
  Shape places(std::vector<Dim>(index.shape().begin(), index.shape().end() - 1));
  std::vector<Value> parts;
  for (int i = 0; i < batch_axes; ++i) {
    require_equal(n, x.shape()[i], index.shape()[i]);
    parts.push_back(iota(n.graph(), places, i));
  }
  for (std::int64_t i = 0; i < count; ++i) parts.push_back(select(index, -1, i));
  for (Value& part : parts) part = cast(part, DType::i64);
  Shape rows{size_product(x.shape(), 0, leading)};
  for (int i = leading; i < x.rank(); ++i) rows.push_back(x.shape()[i]);
  if (parts.empty()) parts.push_back(zeros(n.graph(), DType::i64, places));
  if (sizes.empty()) sizes.emplace_back(1);
  return {reshape(x, rows), row_numbers(n, parts, sizes)};
}

std::vector<ImportedValue> gather_nd(NodeImport& n) {
  const int batch_axes = n.opset() >= 12 ? static_cast<int>(n.integer("batch_dims", 0)) : 0;
  const IndexedRows indexed = indexed_rows(n, n.input(0), n.input(1), batch_axes);
  return {take(indexed.rows, indexed.number)};
}

std::string scatter_reduction(NodeImport& n) {
  return n.opset() >= 16 ? n.text("reduction", "none") : "none";
}

std::vector<ImportedValue> scatter_nd(NodeImport& n) {
  const Value x = n.input(0), updates = n.input(2);
  const IndexedRows indexed = indexed_rows(n, x, n.input(1), 0);
  const Dim count = indexed.number.shape().numel();
  const Dim width = size_product(indexed.rows.shape(), 1, indexed.rows.rank());
  const Value out = scatter_rows(n, reshape(x, Shape{indexed.rows.shape()[0], width}),
                                 reshape(indexed.number, Shape{count}),
                                 reshaped(n, updates, Shape{count, width}), scatter_reduction(n));
  return {reshape(out, x.shape())};
}

std::vector<ImportedValue> scatter_elements(NodeImport& n) {
  const Value x = n.input(0), index = n.input(1), updates = n.input(2);
  const int axis = n.axis("axis", 0, x.rank());
  check_element_index(x, index, axis);
  std::vector<Value> parts;
  for (int i = 0; i < x.rank(); ++i)
    parts.push_back(i == axis ? cast(index, DType::i64) : iota(n.graph(), index.shape(), i));
  const Dim count = index.shape().numel();
  const Value out = scatter_rows(n, reshape(x, Shape{x.shape().numel(), 1}),
                                 reshape(row_numbers(n, parts, x.shape().dims()), Shape{count}),
                                 reshaped(n, updates, Shape{count, 1}), scatter_reduction(n));
  return {reshape(out, x.shape())};
}

std::vector<ImportedValue> one_hot_values(NodeImport& n) {
  const Value given = n.input(0), values = n.input(2);
  const int axis = n.axis("axis", -1, given.rank() + 1);
  const Dim depth =
      is_floating(n.input(1).dtype()) ? Dim(static_cast<std::int64_t>(n.known_real(1))) : n.size(1);
  // Indices outside of [-depth, depth) match no class.
  const Value index = unsqueeze(wrapped_index(n, cast(given, DType::i64), depth), axis);
  Shape classes(std::vector<Dim>(static_cast<std::size_t>(index.rank()), Dim(1)));
  classes[axis] = depth;
  const Value hot = equal(index, iota(n.graph(), classes, axis));
  return {where(hot, select(values, 0, 1), select(values, 0, 0))};
}

// -- TfIdfVectorizer ------------------------------------------------------------------------------

/// Returns the numbers of occurrences of n-grams, f32 [N, grams], in x [N, C]. grams is [count,
/// length]; the elements of an n-gram are `distance` positions apart.
Value ngram_counts(Value x, const Tensor& grams, std::int64_t distance) {
  Graph& graph = x.graph();
  const std::int64_t length = grams.size(1);
  const Dim windows = x.shape()[1] - (length - 1) * distance;
  Value matches;
  for (std::int64_t j = 0; j < length; ++j) {
    const Value element = slice(x, 1, {j * distance, windows + j * distance, 1});
    const Value wanted = select(graph.constant(grams), 1, j);
    const Value match = equal(unsqueeze(element, 2), wanted);  // [N, windows, grams]
    matches = matches.defined() ? logical_and(matches, match) : match;
  }
  return sum(cast(matches, DType::f32), 1);
}

/// Returns a list attribute. Throws FormatError if it is missing or empty.
Sizes ngram_list(NodeImport& n, std::string_view name) {
  const auto values = n.integers(name);
  if (!values || values->empty()) throw FormatError(fmt::format("{} is missing", name));
  return *values;
}

std::vector<ImportedValue> tf_idf_vectorizer(NodeImport& n) {
  const Value given = n.input(0);
  if (n.has_attribute("pool_strings")) n.unsupported("strings");
  const Sizes pool = ngram_list(n, "pool_int64s"), indexes = ngram_list(n, "ngram_indexes");
  Sizes starts = ngram_list(n, "ngram_counts");
  const std::int64_t shortest = n.integer("min_gram_length"),
                     longest = n.integer("max_gram_length");
  const std::int64_t skips = n.integer("max_skip_count");
  const std::string mode = n.text("mode", "TF");
  const auto weights = n.reals("weights");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    n.unsupported(fmt::format("mode '{}'", mode));
  const Value x = given.rank() == 1 ? unsqueeze(given, 0) : given;
  if (x.rank() != 2 || !x.shape()[1].is_constant())
    n.unsupported(fmt::format("the operand {}", given.type().str()));
  if (shortest < 1 || longest < shortest || longest > static_cast<std::int64_t>(starts.size()) ||
      skips < 0) {
    throw FormatError(
        fmt::format("n-grams of {} to {} elements with {} skips do not fit {} "
                    "ngram_counts",
                    shortest, longest, skips, starts.size()));
  }
  starts.push_back(static_cast<std::int64_t>(pool.size()));
  if (skips >= 1024 || static_cast<std::int64_t>(pool.size()) * (skips + 1) > 1 << 20)
    n.unsupported(fmt::format("{} elements of n-grams with {} skips", pool.size(), skips));
  if (*std::min_element(indexes.begin(), indexes.end()) < 0)
    throw FormatError("an element of ngram_indexes is negative");
  const std::int64_t last = *std::max_element(indexes.begin(), indexes.end());
  if (last >= std::int64_t{1} << 24) n.unsupported(fmt::format("the n-gram index {}", last));
  const std::int64_t columns = last + 1;
  Graph& graph = n.graph();
  Value out = zeros(graph, DType::f32, Shape{x.shape()[0], columns});
  std::int64_t number = 0;  // of the first n-gram of this length
  for (std::int64_t length = 1; length <= longest; ++length) {
    const std::int64_t begin = starts[static_cast<std::size_t>(length - 1)];
    const std::int64_t end = starts[static_cast<std::size_t>(length)];
    const std::int64_t count = (end - begin) / length;
    if (begin < 0 || end < begin || end > starts.back() || count * length != end - begin ||
        number + count > static_cast<std::int64_t>(indexes.size())) {
      throw FormatError(fmt::format("ngram_counts does not divide the pool into {}-grams", length));
    }
    if (count > 0 && length >= shortest) {
      const Tensor grams = Tensor::of<std::int64_t>(
          {count, length}, std::span(pool).subspan(static_cast<std::size_t>(begin),
                                                   static_cast<std::size_t>(count * length)));
      const Tensor column = Tensor::of<std::int64_t>(
          {count}, std::span(indexes).subspan(static_cast<std::size_t>(number),
                                              static_cast<std::size_t>(count)));
      for (std::int64_t skip = 0; skip <= (length == 1 ? 0 : skips); ++skip) {
        if ((length - 1) * (skip + 1) >= x.shape()[1].constant()) break;
        out = index_add(out, graph.constant(column), ngram_counts(x, grams.to(x.dtype()), skip + 1),
                        1);
      }
    }
    number += count;
  }
  if (mode != "TF") {
    Tensor scale = Tensor::full(DType::f32, {columns}, 1);
    for (std::size_t i = 0; i < indexes.size() && weights; ++i) {
      if (weights->size() != indexes.size())
        throw FormatError("weights and ngram_indexes differ in length");
      scale.mutable_data<float>()[indexes[i]] = static_cast<float>((*weights)[i]);
    }
    out = mul(mode == "IDF" ? minimum(out, 1) : out, graph.constant(scale));
  }
  return {given.rank() == 1 ? reshape(out, Shape{columns}) : out};
}

constexpr Operator kIndexOperators[] = {
    {"Gather", 1, gather_slices},
    {"GatherElements", 11, gather_elements},
    {"GatherND", 11, gather_nd},
    {"Scatter", 9, scatter_elements},
    {"ScatterElements", 11, scatter_elements},
    {"ScatterND", 11, scatter_nd},
    {"OneHot", 9, one_hot_values},
    {"TfIdfVectorizer", 9, tf_idf_vectorizer},
};

}  // namespace

std::span<const Operator> index_operators() { return kIndexOperators; }

}  // namespace weft::onnx

// einsum in terms of permute, reshape, matmul and sum.
#include "weft/graph/functions/linalg/einsum.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

using einsum_detail::label_name;
using einsum_detail::Labels;

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

int position(const Labels& labels, int label) {
  return static_cast<int>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}

Labels joined(const Labels& a, const Labels& b) {
  Labels result = a;
  result.insert(result.end(), b.begin(), b.end());
  return result;
}

// A tensor with one distinct label per axis.
struct Labelled {
  Value value;
  Labels labels;
};

Labelled permuted(const Labelled& x, const Labels& order) {
  if (x.labels == order) return x;
  std::vector<int> axes;
  for (const int label : order) axes.push_back(position(x.labels, label));
  return {permute(x.value, axes), order};
}

Labelled summed(const Labelled& x, const Labels& away) {
  std::vector<int> axes;
  Labels rest;
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    if (contains(away, x.labels[i])) {
      axes.push_back(static_cast<int>(i));
    } else {
      rest.push_back(x.labels[i]);
    }
  }
  if (axes.empty()) return x;
  return {sum(x.value, Axes(axes)), rest};
}

class Einsum {
 public:
  Einsum(std::string_view equation, const std::vector<Value>& operands)
      : graph_(operands.front().graph()), equation_(equation) {
    std::vector<Shape> shapes;
    for (const Value v : operands) shapes.push_back(v.shape());
    subscripts_ = einsum_detail::parse_equation(equation, shapes);
    for (std::size_t i = 0; i < operands.size(); ++i) find_sizes(i, shapes[i]);
  }

  Value build(const std::vector<Value>& operands) {
    Labelled result = prepared(operands, 0);
    for (std::size_t i = 1; i < operands.size(); ++i) {
      Labels needed = subscripts_.output;
      for (std::size_t later = i + 1; later < operands.size(); ++later) {
        needed = joined(needed, subscripts_.operands[later]);
      }
      result = contracted(result, prepared(operands, i), needed);
    }
    Labels away;
    for (const int label : result.labels) {
      if (!contains(subscripts_.output, label)) away.push_back(label);
    }
    return permuted(summed(result, away), subscripts_.output).value;
  }

 private:
  bool is_one(const Dim& d) const { return d.is_constant() && d.constant() == 1; }

  // Records the sizes of the labels of operand i. Only the axes of "..." broadcast.
  void find_sizes(std::size_t i, const Shape& shape) {
    const Labels& labels = subscripts_.operands[i];
    for (std::size_t axis = 0; axis < labels.size(); ++axis) {
      const Dim& size = shape[static_cast<int>(axis)];
      const auto [it, is_new] = sizes_.emplace(labels[axis], std::pair{size, i});
      auto& [known, where] = it->second;
      if (is_new || graph_.facts().equal(known, size)) continue;
      const bool broadcasts = labels[axis] >= einsum_detail::ellipsis_label(0);
      if (broadcasts && is_one(size)) continue;
      if (broadcasts && is_one(known)) {
        it->second = {size, i};
        continue;
      }
      throw ShapeError(fmt::format(
          "equation \"{}\": {} is {} in operand {} and {} in operand {}{}", equation_,
          label_name(labels[axis]), known.str(), where, size.str(), i,
          known.is_constant() && size.is_constant() ? ""
                                                    : ", which cannot be proven equal; if they are "
                                                      "always equal, add Graph::require(a == b)"));
    }
  }

  const Dim& size(int label) const { return sizes_.at(label).first; }

  Shape shape_of(const Labels& labels) const {
    Shape shape;
    for (const int label : labels) shape.push_back(size(label));
    return shape;
  }

  Dim numel(const Labels& labels) const { return shape_of(labels).numel(); }

  // Returns operand i with distinct labels of full size: drops axes of "..." that are broadcast and
  // extracts the diagonal of repeated labels.
  Labelled prepared(const std::vector<Value>& operands, std::size_t i) const {
    Labelled x{operands[i], {}};
    Shape shape;
    for (std::size_t axis = 0; axis < subscripts_.operands[i].size(); ++axis) {
      const int label = subscripts_.operands[i][axis];
      const Dim& own = operands[i].shape()[static_cast<int>(axis)];
      if (is_one(own) && !is_one(size(label))) continue;
      x.labels.push_back(label);
      shape.push_back(own);
    }
    if (x.labels.size() != subscripts_.operands[i].size()) x.value = reshape(x.value, shape);
    for (std::size_t axis = 0; axis < x.labels.size();) {
      const auto first = static_cast<std::size_t>(position(x.labels, x.labels[axis]));
      if (first == axis) {
        ++axis;
      } else {
        x = diagonal(x, static_cast<int>(first), static_cast<int>(axis));
      }
    }
    return x;
  }

  // Replaces the axes first < second by their diagonal, at position `first`. Elements off the
  // diagonal are set to zero and summed, which also works for symbolic sizes.
  Labelled diagonal(const Labelled& x, int first, int second) const {
    const int rank = x.value.rank();
    const Dim& n = x.value.shape()[first];
    Shape ones(std::vector<Dim>(static_cast<std::size_t>(rank), Dim(1)));
    Shape rows = ones, columns = ones;
    rows[first] = n;
    columns[second] = n;
    const Value on_diagonal = equal(iota(graph_, rows, first), iota(graph_, columns, second));
    Labels labels = x.labels;
    labels.erase(labels.begin() + second);
    return {sum(where(on_diagonal, x.value, 0), Axes(second)), labels};
  }

  // An operand of matmul: batch axes followed by the two groups, each merged into one axis.
  // `swapped` is true if the groups are in the opposite order in memory, which matmul handles
  // without a permute.
  struct Matrix {
    Value value;
    bool swapped = false;
  };
  Matrix matrix(const Labelled& x, const Labels& batch, const Labels& rows,
                const Labels& columns) const {
    const bool swapped =
        !columns.empty() && !rows.empty() && x.labels == joined(joined(batch, columns), rows);
    const Labels& first = swapped ? columns : rows;
    const Labels& second = swapped ? rows : columns;
    const Value ordered = permuted(x, joined(joined(batch, first), second)).value;
    if (first.size() == 1 && second.size() == 1) return {ordered, swapped};
    Shape shape = shape_of(batch);
    shape.push_back(numel(first));
    shape.push_back(numel(second));
    return {reshape(ordered, shape), swapped};
  }

  // Contracts a and b: multiplies them and sums over the labels that are not `needed`.
  Labelled contracted(Labelled a, Labelled b, const Labels& needed) const {
    Labels batch, only_a, only_b, common, away_a, away_b;
    for (const int label : a.labels) {
      const bool shared = contains(b.labels, label), keep = contains(needed, label);
      (shared ? (keep ? batch : common) : (keep ? only_a : away_a)).push_back(label);
    }
    for (const int label : b.labels) {
      if (!contains(a.labels, label)) {
        (contains(needed, label) ? only_b : away_b).push_back(label);
      }
    }
    a = summed(a, away_a);
    b = summed(b, away_b);
    const Labels labels = joined(joined(batch, only_a), only_b);
    if (common.empty()) {
      const Value left = permuted(a, joined(batch, only_a)).value;
      const Value right = permuted(b, joined(batch, only_b)).value;
      return {mul(spread(left, batch.size() + only_a.size(), only_b.size()),
                  spread(right, batch.size(), only_a.size())),
              labels};
    }
    const Matrix left = matrix(a, batch, only_a, common);
    const Matrix right = matrix(b, batch, common, only_b);
    Value product = matmul(left.value, right.value,
                           {.transpose_a = left.swapped, .transpose_b = right.swapped});
    if (only_a.size() != 1 || only_b.size() != 1) product = reshape(product, shape_of(labels));
    return {product, labels};
  }

  // Inserts `count` axes of size 1 before axis `at`.
  Value spread(const Value& x, std::size_t at, std::size_t count) const {
    if (count == 0) return x;
    std::vector<Dim> dims = x.shape().dims();
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), count, Dim(1));
    return reshape(x, Shape(std::move(dims)));
  }

  Graph& graph_;
  std::string equation_;
  einsum_detail::Subscripts subscripts_;
  /// Maps a label to its size and to the operand from which the size was taken.
  std::map<int, std::pair<Dim, std::size_t>> sizes_;
};

}  // namespace

Value einsum(std::string_view equation, const std::vector<Value>& operands, SourceLocation loc) {
  if (operands.empty()) {
    throw ArgumentError(fmt::format("einsum: equation \"{}\" needs at least one operand ({})",
                                    equation, loc.str()));
  }
  Graph& graph = Arg(operands.front(), loc).value("einsum").graph();
  for (const Value v : operands) graph.check_owned(v, "an operand of einsum", loc);
  std::optional<Einsum> made;
  try {
    made.emplace(equation, operands);
  } catch (const Error& error) {
    graph.fail(error, "einsum", operands, loc);
  }
  const Graph::Frame frame(graph, "einsum", loc);
  return made->build(operands);
}

}  // namespace weft

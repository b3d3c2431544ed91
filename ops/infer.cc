#include <fmt/format.h>

#include "weft/ops/op.h"

namespace weft {

std::string ValueType::str() const { return std::string(dtype_name(dtype)) + shape.str(); }

bool InferContext::equal(const Shape& a, const Shape& b) const {
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    if (!equal(a[i], b[i])) return false;
  }
  return true;
}

std::vector<ValueType> InferContext::body_outputs(
    std::string_view body, const std::vector<const ValueType*>& operands) const {
  const std::string& name = attributes_.text(body);
  if (bodies_ == nullptr) {
    throw GraphError(fmt::format(
        "function '{}' is only defined in the graph to which the {} node belongs", name, op_));
  }
  return bodies_->outputs(name, operands);
}

void InferContext::require_rank(int i, int rank, std::string_view what) const {
  if (this->rank(i) != rank) {
    throw ShapeError(fmt::format("{} must have {} axes, but {} has {}", what, rank, input(i).str(),
                                 this->rank(i)));
  }
}

void InferContext::require_min_rank(int i, int rank, std::string_view what) const {
  if (this->rank(i) < rank) {
    throw ShapeError(fmt::format("{} must have at least {} axes, but {} has {}", what, rank,
                                 input(i).str(), this->rank(i)));
  }
}

void InferContext::require_dtype(int i, DType dtype, std::string_view what) const {
  if (this->dtype(i) != dtype) {
    throw DTypeError(fmt::format("{} must be {}, but is {}; convert it with cast()", what,
                                 dtype_name(dtype), dtype_name(this->dtype(i))));
  }
}

void InferContext::require_floating(int i, std::string_view what) const {
  if (dtype(i) != DType::f32 && dtype(i) != DType::f64) {
    throw DTypeError(fmt::format("{} must be f32 or f64, but is {}; convert it with cast()", what,
                                 dtype_name(dtype(i))));
  }
}

void InferContext::require_index(int i, std::string_view what) const {
  if (dtype(i) != DType::i32 && dtype(i) != DType::i64) {
    throw DTypeError(fmt::format("{} must be i32 or i64, but is {}; convert it with cast()", what,
                                 dtype_name(dtype(i))));
  }
}

void InferContext::require_same_dtype(int a, int b) const {
  if (dtype(a) != dtype(b)) {
    throw DTypeError(
        fmt::format("operands have different dtypes, {} and {}, and there is no implicit "
                    "promotion: convert one of them with cast()",
                    dtype_name(dtype(a)), dtype_name(dtype(b))));
  }
}

void InferContext::require_equal(const Dim& a, const Dim& b, std::string_view what) const {
  if (equal(a, b)) return;
  if (a.is_constant() && b.is_constant()) {
    throw ShapeError(fmt::format("{}: {} and {} differ", what, a.str(), b.str()));
  }
  throw ShapeError(
      fmt::format("{}: {} and {} cannot be proven equal; if they always are, declare this with "
                  "Graph::require(a == b)",
                  what, a.str(), b.str()));
}

void InferContext::require_shape(int i, const Shape& shape, std::string_view what) const {
  if (!equal(this->shape(i), shape)) {
    throw ShapeError(
        fmt::format("{} must have shape {}, but has {}", what, shape.str(), this->shape(i).str()));
  }
}

Shape InferContext::broadcast(const Shape& a, const Shape& b) const {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<Dim> dims(static_cast<std::size_t>(rank));
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
    Dim& out = dims[static_cast<std::size_t>(i)];
    if (ia < 0 || (ib >= 0 && a[ia] == Dim(1))) {
      out = b[ib];
    } else if (ib < 0 || b[ib] == Dim(1) || equal(a[ia], b[ib])) {
      out = a[ia];
    } else {
      const bool constant = a[ia].is_constant() && b[ib].is_constant();
      throw ShapeError(fmt::format(
          "shapes {} and {} do not broadcast: axis {} has sizes {} and {}{}", a.str(), b.str(),
          i - rank, a[ia].str(), b[ib].str(),
          constant ? ", neither of which is 1"
                   : ", which cannot be proven equal (a symbol is never treated as 1); if they "
                     "always are, declare this with Graph::require(a == b)"));
    }
  }
  return Shape(std::move(dims));
}

}  // namespace weft

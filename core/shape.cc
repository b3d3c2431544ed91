#include "weft/core/shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"

namespace weft {

std::int64_t num_elements(const Sizes& sizes) {
  bool empty = false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0) {
      throw ShapeError(
          fmt::format("size {} of axis {} of {} is negative", sizes[i], i, to_string(sizes)));
    }
    empty = empty || sizes[i] == 0;
  }
  if (empty) return 0;
  std::int64_t n = 1;
  for (std::int64_t size : sizes) {
    if (__builtin_mul_overflow(n, size, &n)) {
      throw ShapeError(
          fmt::format("the number of elements of {} overflows 64 bits", to_string(sizes)));
    }
  }
  return n;
}

Sizes row_major_strides(const Sizes& sizes) {
  Sizes strides(sizes.size());
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    if (i > 0 && __builtin_mul_overflow(stride, sizes[i], &stride)) {
      throw ShapeError(fmt::format("the strides of {} overflow 64 bits", to_string(sizes)));
    }
  }
  return strides;
}

std::string to_string(const Sizes& sizes) { return fmt::format("[{}]", fmt::join(sizes, ", ")); }

Dim Shape::numel() const {
  Dim product = 1;
  for (const Dim& d : dims_) product *= d;
  return product;
}

bool Shape::is_constant() const {
  return std::all_of(dims_.begin(), dims_.end(), [](const Dim& d) { return d.is_constant(); });
}

Sizes Shape::constant() const {
  Sizes sizes;
  sizes.reserve(dims_.size());
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    if (!dims_[i].is_constant()) {
      throw ShapeError(
          fmt::format("the shape {} must be constant, but axis {} has the symbolic size {}", str(),
                      i, dims_[i].str()));
    }
    sizes.push_back(dims_[i].constant());
  }
  return sizes;
}

Sizes Shape::evaluate(const Bindings& bindings) const {
  Sizes sizes;
  sizes.reserve(dims_.size());
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    const std::int64_t size = dims_[i].evaluate(bindings);
    if (size < 0) {
      throw ShapeError(fmt::format("axis {} of {} would have the negative size {} ({} for {})", i,
                                   str(), size, dims_[i].str(), bindings.str()));
    }
    sizes.push_back(size);
  }
  return sizes;
}

Shape Shape::substitute(const std::function<std::optional<Dim>(const SymbolPtr&)>& map) const {
  std::vector<Dim> dims;
  dims.reserve(dims_.size());
  for (const Dim& d : dims_) dims.push_back(d.substitute(map));
  return Shape(std::move(dims));
}

std::string Shape::str() const {
  std::string text = "[";
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    if (i > 0) text += ", ";
    text += dims_[i].str();
  }
  return text + "]";
}

std::size_t Shape::hash() const {
  std::uint64_t h = 0x9e3779b97f4a7c15u + dims_.size();
  for (const Dim& d : dims_) h = (h ^ d.hash()) * 0xff51afd7ed558ccdu + (h >> 29);
  return h;
}

bool operator==(const Shape& a, const Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Dim& x, const Dim& y) { return !(x != y); });
}

int normalize_axis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    throw ShapeError(rank == 0
                         ? fmt::format("axis {} is out of range: a scalar has no axes", axis)
                         : fmt::format("axis {} is out of range for rank {}: it must be in {}..{}",
                                       axis, rank, -rank, rank - 1));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Sizes broadcast_sizes(const Sizes& a, const Sizes& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Sizes out(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t x = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const std::int64_t y = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (x != y && x != 1 && y != 1) {
      throw ShapeError(
          fmt::format("cannot broadcast {} with {}: axis -{} has size {} in one and {} in the "
                      "other (sizes must be equal, or one of them must be 1)",
                      to_string(a), to_string(b), rank - i, x, y));
    }
    out[i] = x == 1 ? y : x;
  }
  return out;
}

}  // namespace weft

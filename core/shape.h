// Shapes: symbolic (Shape) and concrete (Sizes).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "weft/core/dim.h"

namespace WEFT_API weft {

/// Concrete sizes, outermost axis first. An empty list denotes a scalar.
using Sizes = std::vector<std::int64_t>;

/// Returns the product of the sizes (1 for a scalar). Throws ShapeError on a negative size or on
/// overflow.
std::int64_t num_elements(const Sizes& sizes);
/// Returns the row-major strides in elements.
Sizes row_major_strides(const Sizes& sizes);
/// Returns, for example, "[2, 3]".
std::string to_string(const Sizes& sizes);

class Shape;
// Also declared here: g++ gives hidden visibility to functions declared only as friends.
bool operator==(const Shape& a, const Shape& b);

/// Symbolic sizes, outermost axis first.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Dim> dims) : dims_(dims) {}
  explicit Shape(std::vector<Dim> dims) : dims_(std::move(dims)) {}
  explicit Shape(const Sizes& sizes) : dims_(sizes.begin(), sizes.end()) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  const Dim& operator[](int axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  Dim& operator[](int axis) { return dims_[static_cast<std::size_t>(axis)]; }
  const std::vector<Dim>& dims() const { return dims_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }
  /// Appends an innermost axis.
  void push_back(Dim d) { dims_.push_back(std::move(d)); }

  /// Returns the product of all dims.
  Dim numel() const;
  bool is_constant() const;
  /// Returns the concrete sizes. Throws ShapeError if a dim is symbolic.
  Sizes constant() const;
  /// Returns the concrete sizes under `bindings`. Throws ShapeError for unbound symbols and
  /// negative sizes.
  Sizes evaluate(const Bindings& bindings) const;
  /// Returns this shape with each symbol replaced by `map(symbol)`; symbols mapped to nullopt are
  /// kept.
  Shape substitute(const std::function<std::optional<Dim>(const SymbolPtr&)>& map) const;
  /// Returns, for example, "[batch, 2*seq, 64]".
  std::string str() const;
  std::size_t hash() const;
  friend bool operator==(const Shape& a, const Shape& b);

 private:
  std::vector<Dim> dims_;
};

/// Maps an axis in -rank..rank-1 to 0..rank-1. Throws ShapeError, naming the axis and the rank, if
/// the axis is out of range.
int normalize_axis(std::int64_t axis, int rank);

/// Broadcasts concrete sizes according to the NumPy rules. Throws ShapeError, naming both lists of
/// sizes and the axis, if they do not broadcast.
Sizes broadcast_sizes(const Sizes& a, const Sizes& b);

}  // namespace weft

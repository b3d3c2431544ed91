// Shapes: symbolic (Shape) and concrete (Sizes).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "weft/core/dim.h"

namespace WEFT_API weft {

/// Concrete sizes, outermost axis first. An empty list is a scalar.
using Sizes = std::vector<std::int64_t>;

/// Product of the sizes (1 for a scalar). Throws ShapeError on a negative size or on overflow.
std::int64_t num_elements(const Sizes& sizes);
/// Row-major strides in elements.
Sizes row_major_strides(const Sizes& sizes);
/// "[2, 3]".
std::string to_string(const Sizes& sizes);

class Shape;
// Declared here, too: g++ hides what is declared as a friend alone.
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
  /// Adds an axis behind the others.
  void push_back(Dim d) { dims_.push_back(std::move(d)); }

  /// Product of all dims.
  Dim numel() const;
  bool is_constant() const;
  /// The concrete sizes; throws ShapeError if a dim is symbolic.
  Sizes constant() const;
  Sizes evaluate(const Bindings& bindings) const;
  /// Every Dim with values in place of the symbols that are bound.
  Shape substitute(const std::function<std::optional<Dim>(const SymbolPtr&)>& map) const;
  /// "[batch, 2*seq, 64]".
  std::string str() const;
  std::size_t hash() const;
  friend bool operator==(const Shape& a, const Shape& b);

 private:
  std::vector<Dim> dims_;
};

/// -rank..rank-1 -> 0..rank-1; throws ShapeError naming axis and rank.
int normalize_axis(std::int64_t axis, int rank);

/// NumPy broadcasting of concrete sizes; throws ShapeError naming both and the axis.
Sizes broadcast_sizes(const Sizes& a, const Sizes& b);

}  // namespace weft

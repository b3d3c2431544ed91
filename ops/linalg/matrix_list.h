// What the ops on lists of matrices share: x [..., rows, columns] as one list, factorised matrix by
// matrix in double.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string_view>

#include "weft/ops/op.h"

namespace WEFT_API weft {

/// The axes in front of the last two.
Shape list_shape(const Shape& shape);
/// Throws unless operand `i`, called `what`, is [..., n, n] of f32 or f64.
void require_square(const InferContext& c, int i, std::string_view what);

struct MatrixList {
  std::int64_t count = 1, rows = 0, columns = 0;
  std::int64_t numel() const { return rows * columns; }
};
/// Only where the kernel writes(): sizes beside an axis of size 0 may be too large to multiply.
MatrixList matrix_list(const Sizes& sizes);
/// Whether any output that is read has elements. A kernel that writes nothing needs no phases.
bool writes(const KernelRequest& request);

/// A kernel of `count` units, of about `unit_flops` each, that run on one worker each with arrays
/// of so many doubles as scratch, one behind the other. Throws ShapeError where there cannot be as
/// many.
Kernel unit_kernel(
    std::int64_t count, double unit_flops, std::initializer_list<Sizes> scratch,
    std::function<void(const KernelRun& run, std::int64_t unit, double* scratch)> body);

/// The FLOPs of one matrix [rows, columns] for all those of input 0; all operands are read or
/// written once.
Cost factorisation_cost(const KernelRequest& request, double (*flops)(double rows, double columns));

/// Vectors of double, one behind the other, from the columns of a matrix [rows, columns] times
/// `scale`, and back.
template <class T>
void load_columns(const T* x, const MatrixList& m, double scale, double* columns) {
  for (std::int64_t r = 0; r < m.rows; ++r) {
    for (std::int64_t c = 0; c < m.columns; ++c)
      columns[c * m.rows + r] = scale * static_cast<double>(x[r * m.columns + c]);
  }
}
template <class T>
void store_columns(const double* columns, const MatrixList& m, T* x) {
  for (std::int64_t r = 0; r < m.rows; ++r) {
    for (std::int64_t c = 0; c < m.columns; ++c)
      x[r * m.columns + c] = static_cast<T>(columns[c * m.rows + r]);
  }
}

/// A power of two that brings the largest of n elements near 1, so that no square overflows or
/// vanishes; 0 where one of them is infinite or NaN.
double scale_of(const float* x, std::int64_t n);
double scale_of(const double* x, std::int64_t n);

}  // namespace weft

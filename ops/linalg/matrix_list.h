// Helpers shared by the ops on lists of matrices: x [..., rows, columns] is one list, factorised
// matrix by matrix in double.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string_view>

#include "weft/ops/op.h"

namespace WEFT_API weft {

/// Returns the axes before the last two.
Shape list_shape(const Shape& shape);
/// Throws unless operand `i`, named `what` in the message, has shape [..., n, n] and dtype f32 or
/// f64.
void require_square(const InferContext& c, int i, std::string_view what);

struct MatrixList {
  std::int64_t count = 1, rows = 0, columns = 0;
  std::int64_t numel() const { return rows * columns; }
};
/// Returns the list of matrices in a tensor of `sizes`. Call it only if writes() is true: the
/// product of sizes next to an axis of size 0 may overflow.
MatrixList matrix_list(const Sizes& sizes);
/// Returns true if an output that has a reader has elements. A kernel that writes nothing needs no
/// phases.
bool writes(const KernelRequest& request);

/// Returns a kernel of `count` units of about `unit_flops` FLOPs each. Every unit runs on one
/// worker. Its scratch consists of arrays of doubles of these sizes, one after the other. Throws
/// ShapeError if a size is too large.
Kernel unit_kernel(
    std::int64_t count, double unit_flops, std::initializer_list<Sizes> scratch,
    std::function<void(const KernelRun& run, std::int64_t unit, double* scratch)> body);

/// Returns the cost of factorising all matrices of input 0, at flops(rows, columns) each; all
/// operands are read or written once.
Cost factorisation_cost(const KernelRequest& request, double (*flops)(double rows, double columns));

/// load_columns copies the columns of a matrix [rows, columns], multiplied by `scale`, to
/// consecutive vectors of doubles; store_columns copies such vectors back to columns.
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

/// Returns a power of two that scales the largest of n elements to about 1, so that no square
/// overflows or vanishes; 0 if an element is infinite or NaN.
double scale_of(const float* x, std::int64_t n);
double scale_of(const double* x, std::int64_t n);

}  // namespace weft

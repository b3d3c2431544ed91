// Matrix products on the calling thread. Convolutions, attention and quantised products call gemm()
// for the tiles that their workers compute.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/gemm_engine.h"

namespace weft::kernels {

/// A matrix in memory. Element (i, j) is data[i * row_stride + j * column_stride]. Any strides are
/// supported; products are fast if one of the strides is 1.
template <class T>
struct MatrixView {
  const T* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  MatrixView transposed() const { return {data, column_stride, row_stride}; }
  /// Returns the submatrix that starts at (row, column).
  MatrixView from(std::int64_t row, std::int64_t column) const {
    return {data + row * row_stride + column * column_stride, row_stride, column_stride};
  }
};

/// A product C = A B, or C += A B if `accumulate`. A is m x k and B is k x n. C is row-major with
/// row stride `c_stride` and overlaps neither A nor B.
template <class T>
struct GemmProblem {
  std::int64_t m = 0, n = 0, k = 0;
  MatrixView<T> a, b;
  T* c = nullptr;
  std::int64_t c_stride = 0;
  bool accumulate = false;
  /// The engine for products in float. Null selects fused multiply-adds.
  const GemmEngine* engine = nullptr;
  /// If true, the bits of a row of C do not depend on m: products with few rows have the order of
  /// products with many rows.
  bool batch_invariant = false;
};

/// Returns the number of bytes of scratch that gemm() needs for products of at most these sizes
/// with the active SIMD target: less than 1 MB or about 8 * k elements, whichever is larger.
std::size_t gemm_scratch_bytes(std::size_t element_size, std::int64_t m, std::int64_t n,
                               std::int64_t k, const GemmEngine* engine = nullptr);

/// Computes the product on the calling thread. Any size may be 0 (k = 0 gives zeros). `scratch` has
/// gemm_scratch_bytes() bytes, aligned to 64; matrices need only the alignment of their elements.
///
/// Without an engine, every element of C is computed by chains of fused multiply-adds over k, one
/// chain per block (384 for float, 192 for double), and the blocks are added in order. Products
/// with at most eight columns, or with at most eight rows and contiguous columns of B, are summed
/// in a different order. The bits therefore depend on sizes, strides and CPU features, but not on
/// how C is divided into tiles with more than eight rows and columns.
void gemm(const GemmProblem<float>& problem, std::byte* scratch);
void gemm(const GemmProblem<double>& problem, std::byte* scratch);

}  // namespace weft::kernels

// Sparse matrices and their truncated singular value decomposition.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// A matrix in compressed sparse row format: its non-zero elements row by row, by ascending column
/// within each row.
struct SparseMatrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<std::int64_t> ends;  // end of each row in `column` and `value`
  std::vector<std::int32_t> column;
  std::vector<float> value;

  std::int64_t begin(std::int64_t row) const {
    return row == 0 ? 0 : ends[static_cast<std::size_t>(row - 1)];
  }
  std::int64_t end(std::int64_t row) const { return ends[static_cast<std::size_t>(row)]; }
  SparseMatrix transposed() const;
};

/// Returns the product a x, f32 [a.rows, n], for x of type f32 [a.columns, n]. The result is
/// bit-identical for any number of threads.
Tensor product(const SparseMatrix& a, const Tensor& x, Workers& workers);

struct TruncatedSvdOptions {
  std::int64_t rank = 100;
  std::int64_t oversampling = 16;  // extra dimensions during the computation
  int iterations = 4;
  std::uint64_t seed = 1;
};
struct TruncatedSvd {
  Tensor u;  // f32 [rows, rank]
  Tensor s;  // f32 [rank], descending
  Tensor v;  // f32 [columns, rank]
};
/// Approximates the `rank` largest singular values of a and their singular vectors by random
/// projection and subspace iteration (Halko, Martinsson and Tropp, "Finding structure with
/// randomness", 2011, algorithms 4.4 and 5.1). Throws ArgumentError unless 1 <= rank <= min(rows,
/// columns).
TruncatedSvd truncated_svd(const SparseMatrix& a, const TruncatedSvdOptions& options,
                           Workers& workers);

}  // namespace weft

// Reductions of dense rows and columns, which are the inner loops of sum, max, logsumexp and other
// ops.
#pragma once

#include <cstdint>

#include "weft/core/dtype.h"

namespace weft::kernels {

enum class Reduction { sum, max, min, prod, logsumexp, any, all };

/// Sums, maxima, minima and products of a row are computed over blocks of this many elements, and
/// the results of the blocks are combined in order.
inline constexpr std::int64_t kReduceBlock = 1024;

/// Sets out[i] to the reduction of the `length` elements that start at x[i * row_stride], for i in
/// [0, rows). Sums are divided by `divisor`. Supports f32 and f64 (all reductions except any and
/// all), integers (sum, max, min and prod; sums and products wrap around) and bool (any and all).
/// The result for an empty row is the identity of the reduction (0, 1, -inf and so on). max and min
/// propagate NaN. The elements of a block are summed in the element type, and the block sums are
/// added in double. The order of additions depends only on `length`.
void reduce_rows(Reduction kind, DType dtype, const void* x, std::int64_t rows,
                 std::int64_t row_stride, std::int64_t length, double divisor, void* out);

/// Reduces a row of f32 or f64 elements block by block. The result has the same bits as
/// reduce_rows() on the whole row. Does not support logsumexp.
class BlockReduction {
 public:
  BlockReduction(Reduction kind, DType dtype) : kind_(kind), dtype_(dtype) {}
  /// Adds the next block, which has kReduceBlock elements, or fewer if it is the last block.
  void add(const void* block, std::int64_t length);
  /// Writes the result. Sums are divided by `divisor`. At least one block must have been added.
  void finish(double divisor, void* out) const;
  /// Returns the sum (in double), maximum, minimum or product of all blocks so far.
  double total() const { return total_; }

 private:
  const Reduction kind_;
  const DType dtype_;
  bool empty_ = true;
  double total_ = 0;
};

/// Sets out[j] to the reduction over r of x[r * row_stride + j] for j in [0, width). The semantics
/// are the same as for reduce_rows(), except that sums are combined pairwise, which limits the
/// error to about log2(length) roundings.
void reduce_columns(Reduction kind, DType dtype, const void* x, std::int64_t row_stride,
                    std::int64_t length, std::int64_t width, double divisor, void* out);

/// As above, for integers and for bool (any and all). Called by reduce_rows() and reduce_columns().
void reduce_integers(Reduction kind, DType dtype, const void* x, std::int64_t outputs,
                     std::int64_t output_stride, std::int64_t length, std::int64_t stride,
                     void* out);

/// For each of `width` columns, sets out[j] to the position r of the largest (or smallest) of the
/// `length` elements x[r * row_stride + j]. Among equal elements, the first one is selected. A NaN
/// counts as the largest (or smallest) value. Supports f32, f64 and integers.
void arg_reduce_columns(DType dtype, bool largest, const void* x, std::int64_t row_stride,
                        std::int64_t length, std::int64_t width, std::int64_t* out);

}  // namespace weft::kernels

// Reductions of dense rows and columns: the inner loops of sum, max, logsumexp, ...
#pragma once

#include <cstdint>

#include "weft/core/dtype.h"

namespace weft::kernels {

enum class Reduction { sum, max, min, prod, logsumexp, any, all };

/// Sums, maxima, minima and products of a row are computed over blocks of this many elements, and
/// the results of the blocks are combined in order.
inline constexpr std::int64_t kReduceBlock = 1024;

/// Sets out[i] to the reduction of x[i * row_stride ... + length) for i in [0, rows); sums are
/// divided by `divisor`. Supports f32 and f64 (except any and all), integers (sum, max, min, prod;
/// sums and products wrap around) and bool (any, all). The result for an empty row is the identity
/// of the reduction: 0, 1, -inf and so on. max and min propagate NaN. Sums add the vector lanes of
/// a block in the element type and the blocks in double. The order of additions depends on `length`
/// only.
void reduce_rows(Reduction kind, DType dtype, const void* x, std::int64_t rows,
                 std::int64_t row_stride, std::int64_t length, double divisor, void* out);

/// Reduces a row of f32 or f64 block by block, with the same bits as reduce_rows on the whole row.
/// Does not support logsumexp.
class BlockReduction {
 public:
  BlockReduction(Reduction kind, DType dtype) : kind_(kind), dtype_(dtype) {}
  /// Adds the next block: kReduceBlock elements, or fewer for the last block.
  void add(const void* block, std::int64_t length);
  /// Writes the result; sums are divided by `divisor`. At least one block must have been added.
  void finish(double divisor, void* out) const;
  /// Returns the sum (in double), the maximum or minimum, or the product of all blocks so far.
  double total() const { return total_; }

 private:
  const Reduction kind_;
  const DType dtype_;
  bool empty_ = true;
  double total_ = 0;
};

/// Sets out[j] to the reduction over r of x[r * row_stride + j] for j in [0, width). As
/// reduce_rows, but sums are combined pairwise, which limits the error to about log2(length)
/// roundings.
void reduce_columns(Reduction kind, DType dtype, const void* x, std::int64_t row_stride,
                    std::int64_t length, std::int64_t width, double divisor, void* out);

/// As above, for integers and bool (any, all). Called by reduce_rows and reduce_columns.
void reduce_integers(Reduction kind, DType dtype, const void* x, std::int64_t outputs,
                     std::int64_t output_stride, std::int64_t length, std::int64_t stride,
                     void* out);

/// Sets out[j] to the position r of the largest (or smallest) of the `length` elements x[r *
/// row_stride + j], for `width` columns. Among equal elements the first one is selected; a NaN
/// counts as the largest or smallest. Supports f32, f64 and integers.
void arg_reduce_columns(DType dtype, bool largest, const void* x, std::int64_t row_stride,
                        std::int64_t length, std::int64_t width, std::int64_t* out);

}  // namespace weft::kernels

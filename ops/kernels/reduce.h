// Reductions of dense rows and columns: the inner loops of sum, max, logsumexp, ...
#pragma once

#include <cstdint>

#include "weft/core/dtype.h"

namespace weft::kernels {

enum class Reduction { sum, max, min, prod, logsumexp, any, all };

/// Sums, maxima, minima and products of a row are taken over blocks of so many elements, and the
/// blocks' results combined in order.
inline constexpr std::int64_t kReduceBlock = 1024;

/// out[i] = reduction of x[i * row_stride ... + length) for i in [0, rows); sums are divided by
/// `divisor`. f32, f64 (all but any and all); integers (sum, max, min, prod; sums and products wrap
/// around); bool (any, all). An empty row gives 0, 1, -inf or the like. max and min propagate NaN.
/// Sums add vector lanes of a block in the element type and the blocks in double. The order of
/// additions follows from `length` alone.
void reduce_rows(Reduction kind, DType dtype, const void* x, std::int64_t rows,
                 std::int64_t row_stride, std::int64_t length, double divisor, void* out);

/// A row of f32 or f64 given block by block: the same bits as reduce_rows on the whole row. Not
/// logsumexp.
class BlockReduction {
 public:
  BlockReduction(Reduction kind, DType dtype) : kind_(kind), dtype_(dtype) {}
  /// The next block: kReduceBlock elements, or fewer for the last.
  void add(const void* block, std::int64_t length);
  /// Writes the result; sums are divided by `divisor`. At least one block must be there.
  void finish(double divisor, void* out) const;
  /// Of all blocks so far: the sum (in double), the extreme or the product.
  double total() const { return total_; }

 private:
  const Reduction kind_;
  const DType dtype_;
  bool empty_ = true;
  double total_ = 0;
};

/// out[j] = reduction over r of x[r * row_stride + j] for j in [0, width). As reduce_rows, but sums
/// are combined pairwise, which keeps the error near log2(length) roundings.
void reduce_columns(Reduction kind, DType dtype, const void* x, std::int64_t row_stride,
                    std::int64_t length, std::int64_t width, double divisor, void* out);

/// The same for integers and bool (any, all); reduce_rows and reduce_columns call it.
void reduce_integers(Reduction kind, DType dtype, const void* x, std::int64_t outputs,
                     std::int64_t output_stride, std::int64_t length, std::int64_t stride,
                     void* out);

/// Position of the first largest (or smallest) of `length` elements, for `width` columns: out[j] =
/// argmax over r of x[r * row_stride + j]. A NaN counts as the extreme. f32, f64, integers.
void arg_reduce_columns(DType dtype, bool largest, const void* x, std::int64_t row_stride,
                        std::int64_t length, std::int64_t width, std::int64_t* out);

}  // namespace weft::kernels

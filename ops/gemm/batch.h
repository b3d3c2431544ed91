// Batches of matrix products: the sizes and the memory layouts of operands and results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/shape.h"
#include "weft/ops/kernel.h"
#include "weft/ops/precision.h"

namespace weft {

/// The offsets of the matrices in a batch, in elements. Offsets are computed on demand, so memory
/// use does not grow with the batch.
class BatchOffsets {
 public:
  /// Offset 0 for all items of the batch.
  BatchOffsets() = default;
  /// Offsets of matrices in a dense tensor with `sizes`. The last two axes are the matrix axes; the
  /// other axes are broadcast to `batch`.
  BatchOffsets(const Sizes& sizes, const Sizes& batch);
  std::int64_t operator[](std::int64_t item) const {
    if (axes_.size() == 1) return item * axes_[0].stride;
    std::int64_t offset = 0;
    for (const Axis& axis : axes_) {
      offset += item % axis.size * axis.stride;
      item /= axis.size;
    }
    return offset;
  }

 private:
  struct Axis {
    std::int64_t size = 1;
    std::int64_t stride = 0;
  };
  std::vector<Axis> axes_;  // innermost first; contiguous neighbours are merged
};

/// An operand of a batch. Element (i, j) of item p is at element offsets[p] + i * row_stride + j *
/// column_stride.
struct GemmOperand {
  DType dtype = DType::f32;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
  BatchOffsets offsets = {};
};

/// A part of a matrix.
struct MatrixPart {
  std::int64_t row = 0, column = 0;  // position of the first element
  std::int64_t rows = 0, columns = 0;
};

/// A batch of `count` products C = A B, or C += A B if `accumulate`, of m x k and k x n matrices. C
/// is f32 or f64. A and B are bf16 or f16 or have the dtype of C. C has column_stride 1 and
/// overlaps neither A nor B nor the result of another item. Any size may be 0; an empty sum is 0.
struct GemmBatch {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t count = 1;
  GemmOperand a, b, c;
  bool accumulate = false;
  Precision precision = Precision::highest;
  /// If true, the bits of a row of C depend only on this row of A and on B, not on m
  /// (KernelRequest::batch_invariant). In products of groups, m is the number of all rows.
  bool batch_invariant = false;
  /// The index of the kernel input that contains B, if this input is constant
  /// (OperandSpec::constant) and B begins at its first element.
  std::optional<std::size_t> constant_b = {};
  /// If set, B is stored in another format, and count must be 1. Every part of B is converted by
  /// this function when a tile needs it: element (part.row + i, part.column + j) is written to
  /// `to`, at i * stride + j elements, with b.dtype. part.row and part.column are multiples of 32
  /// and 16, and `stride` is at least part.columns rounded up to a multiple of 16. The strides of b
  /// and GemmPointers::b are ignored.
  std::function<void(const KernelRun& run, const MatrixPart& part, void* to, std::int64_t stride)>
      convert_b = {};
};

/// The kernel input that contains the sizes of the groups, i32 or i64 [groups]. The rows of the
/// groups follow one another. The sizes must not be negative, and their sum must be at most the
/// number of rows (Kernel::check).
struct GroupSizes {
  std::size_t input = 0;
  DType dtype = DType::i64;
};

/// The addresses of the operands during a run. They are in the kernel's inputs or outputs or in its
/// shared scratch.
struct GemmPointers {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
};

/// A tile of C that contains final values and is still in cache.
struct OutputTile {
  std::int64_t item = 0;             // index of the batch item
  std::int64_t row = 0, column = 0;  // position of the first element in C
  std::int64_t rows = 0, columns = 0;
  void* c = nullptr;  // address of the first element
  std::int64_t c_stride = 0;
};

/// A function that is called once for every tile of C after the last accumulation, on the worker
/// that computed the tile. The tiles cover C and are processed in any order.
using TileEpilogue = std::function<void(const KernelRun&, const OutputTile&)>;

}  // namespace weft

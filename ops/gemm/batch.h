// Batches of matrix products: sizes, and where operands and results lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/shape.h"
#include "weft/ops/precision.h"

namespace weft {

/// Where the matrices of a batch begin, in elements. Computed where it is asked for, so that a
/// batch of any size takes no memory.
class BatchOffsets {
 public:
  /// 0 for all.
  BatchOffsets() = default;
  /// Of matrices that lie dense in a tensor of `sizes` (its last two axes are the matrix), for the
  /// products of batch axes `batch` that the tensor's own are broadcast to.
  BatchOffsets(const Sizes& sizes, const Sizes& batch);
  std::int64_t operator[](std::int64_t product) const {
    if (axes_.size() == 1) return product * axes_[0].stride;
    std::int64_t offset = 0;
    for (const Axis& axis : axes_) {
      offset += product % axis.size * axis.stride;
      product /= axis.size;
    }
    return offset;
  }

 private:
  struct Axis {
    std::int64_t size = 1;
    std::int64_t stride = 0;
  };
  std::vector<Axis> axes_;  // innermost first, neighbours that are one run joined
};

/// One operand of a batch of products: element (i, j) of product p is element
/// offsets[p] + i * row_stride + j * column_stride.
struct ProductOperand {
  DType dtype = DType::f32;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
  BatchOffsets offsets = {};
};

/// `products` products C = A B, or C += A B where `accumulate`, of m x k and k x n matrices. C is
/// f32 or f64 (A and B each have the same or are bf16 or f16), has column_stride 1, and overlaps
/// neither A nor B, nor the C of another product. Any size may be 0; an empty sum is 0.
struct ProductShape {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t products = 1;
  ProductOperand a, b, c;
  bool accumulate = false;
  Precision precision = Precision::highest;
  /// The input of the kernel that B is, if it is kept (OperandSpec::kept) and begins there.
  std::optional<std::size_t> kept_b = {};
};

/// Where the operands of a run are: in its inputs and outputs, or in its shared scratch.
struct ProductPointers {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
};

/// A part of C that has its final values and is still in cache.
struct FinishedTile {
  std::int64_t product = 0;
  std::int64_t row = 0, column = 0;  // of its first element in C
  std::int64_t rows = 0, columns = 0;
  void* c = nullptr;  // its first element
  std::int64_t c_stride = 0;
};

}  // namespace weft

// Engines that multiply packed matrices. A product is divided into blocks of K and tiles of C; an
// engine packs the parts of A and B that a tile needs into panels and multiplies them. Packing
// accepts any strides and storage dtypes, so transposes and conversions cost nothing extra.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/core/dtype.h"
#include "weft/ops/precision.h"

namespace weft::kernels {

/// A matrix in memory whose dtype is known only at run time. Element (i, j) is element i *
/// row_stride + j * column_stride after `data`.
struct MatrixSource {
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  MatrixSource transposed() const { return {data, dtype, column_stride, row_stride}; }
  /// Returns the part that starts at (row, column).
  MatrixSource from(std::int64_t row, std::int64_t column) const {
    const std::int64_t offset = row * row_stride + column * column_stride;
    return {
        static_cast<const std::byte*>(data) + offset * static_cast<std::int64_t>(dtype_size(dtype)),
        dtype, row_stride, column_stride};
  }
};

/// An operand of multiply(): its packed panels, and the same part of the matrix in its original
/// layout, for engines that must fall back to other arithmetic if entries are out of their range.
struct PackedBlock {
  const std::byte* panels = nullptr;
  MatrixSource source;
};

/// An engine. Immutable, with static lifetime; its functions may run on any thread.
///
/// A block of A (rows x depth) is packed as panels of `row_panel` rows, a block of B (depth x
/// columns) as panels of `column_panel` columns; the last panel may be partial, but takes the
/// memory of a whole panel. Every panel is self-contained, including what an engine records about
/// its entries: panel i starts i * panel_bytes(depth) bytes after the first, and a block may be
/// packed in several calls, each starting with a panel, by different threads. Panels are multiples
/// of 64 bytes and 64-byte aligned.
struct GemmEngine {
  std::string_view name;
  /// The dtype of C, f32 or f64; sources have the same dtype or are bf16 or f16.
  DType result = DType::f32;
  std::int64_t row_panel = 0;
  std::int64_t column_panel = 0;
  /// K is divided into blocks of this size, which are summed in order. The block size affects the
  /// bits of the result.
  std::int64_t depth_block = 0;

  std::size_t (*a_panel_bytes)(std::int64_t depth) = nullptr;
  std::size_t (*b_panel_bytes)(std::int64_t depth) = nullptr;
  /// Packs the block that starts at element (0, 0) of the source; depth is 1 to depth_block.
  void (*pack_a)(const MatrixSource& a, std::int64_t rows, std::int64_t depth,
                 std::byte* panels) = nullptr;
  void (*pack_b)(const MatrixSource& b, std::int64_t depth, std::int64_t columns,
                 std::byte* panels) = nullptr;
  /// Computes C = A B, or C += A B if `accumulate`, for blocks of one depth. C is row-major with
  /// row stride c_stride. `scratch` has multiply_scratch bytes, 64-byte aligned. The bits of an
  /// element depend on its row of A and its column of B only, never on where tiles begin and end.
  void (*multiply)(const PackedBlock& a, const PackedBlock& b, std::int64_t rows,
                   std::int64_t columns, std::int64_t depth, void* c, std::int64_t c_stride,
                   bool accumulate, std::byte* scratch) = nullptr;
  std::size_t multiply_scratch = 0;
};

/// Returns the engine of vector fused multiply-adds, which runs on every CPU and is correct for
/// every input. `result` is f32 or f64. The engine is that of the SIMD target that is active at the
/// time of the call.
const GemmEngine& fma_engine(DType result);

/// Returns the engine for a product of these sizes of matrices with dtypes `a` and `b`. The choice
/// depends on precision, shape, dtypes and CPU features only, never on timing. f64 always uses
/// fused multiply-adds.
const GemmEngine& choose_engine(DType result, DType a, DType b, Precision precision, std::int64_t m,
                                std::int64_t n, std::int64_t k);

}  // namespace weft::kernels

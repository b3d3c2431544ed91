// Engines that multiply packed matrices. A product is divided into blocks of K and tiles of C. An
// engine packs the parts of A and B that a tile needs into panels and multiplies the panels.
// Packing accepts any strides and storage dtypes, so transposed and converted operands incur no
// extra cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/core/dtype.h"
#include "weft/ops/precision.h"

namespace weft::kernels {

/// A matrix in memory with a dtype that is known only at run time. Element (i, j) is at offset i *
/// row_stride + j * column_stride from `data`, in elements.
struct MatrixSource {
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  MatrixSource transposed() const { return {data, dtype, column_stride, row_stride}; }
  /// Returns the submatrix that starts at (row, column).
  MatrixSource from(std::int64_t row, std::int64_t column) const {
    const std::int64_t offset = row * row_stride + column * column_stride;
    return {
        static_cast<const std::byte*>(data) + offset * static_cast<std::int64_t>(dtype_size(dtype)),
        dtype, row_stride, column_stride};
  }
};

/// An operand of multiply(): the packed panels, and the same part of the matrix in its original
/// layout. The latter is for engines that fall back to different arithmetic if entries are outside
/// their range, and for rows of A that are not packed (GemmEngine::row_unit).
struct PackedBlock {
  const std::byte* panels = nullptr;
  MatrixSource source;
};

/// A matrix multiplication engine. It is immutable and has static lifetime; its functions may run
/// on any thread.
///
/// A block of A (rows x depth) is packed into panels of `row_panel` rows, and a block of B (depth x
/// columns) into panels of `column_panel` columns. The last panel may be partial but occupies the
/// memory of a whole panel. Every panel is self-contained, including the information that an engine
/// stores about its entries. Panel i starts i * panel_bytes(depth) bytes after the first panel. A
/// block may be packed in several calls by different threads; each call starts at a panel boundary.
/// Panel sizes are multiples of 64 bytes, and panels are 64-byte aligned.
struct GemmEngine {
  std::string_view name;
  /// The dtype of C, f32 or f64; sources have the same dtype or are bf16 or f16.
  DType result = DType::f32;
  std::int64_t row_panel = 0;
  std::int64_t column_panel = 0;
  /// The size of the blocks into which K is divided. The blocks are summed in order, so this size
  /// affects the bits of the result.
  std::int64_t depth_block = 0;

  std::size_t (*a_panel_bytes)(std::int64_t depth) = nullptr;
  std::size_t (*b_panel_bytes)(std::int64_t depth) = nullptr;
  /// Packs the block that starts at element (0, 0) of the source. depth is at least 1 and at most
  /// depth_block.
  void (*pack_a)(const MatrixSource& a, std::int64_t rows, std::int64_t depth,
                 std::byte* panels) = nullptr;
  void (*pack_b)(const MatrixSource& b, std::int64_t depth, std::int64_t columns,
                 std::byte* panels) = nullptr;
  /// Computes C = A B, or C += A B if `accumulate`, for blocks of equal depth. C is row-major with
  /// row stride c_stride. `scratch` has multiply_scratch bytes and is 64-byte aligned. The bits of
  /// an element depend only on its row of A and its column of B, never on where tiles begin and
  /// end.
  void (*multiply)(const PackedBlock& a, const PackedBlock& b, std::int64_t rows,
                   std::int64_t columns, std::int64_t depth, void* c, std::int64_t c_stride,
                   bool accumulate, std::byte* scratch) = nullptr;
  std::size_t multiply_scratch = 0;
  /// If not 0, multiply() accepts an A without panels if the number of its rows is a multiple of
  /// row_unit, the rows are contiguous, and its dtype is `result`. The bits are the same. Products
  /// with few columns are faster without packing.
  std::int64_t row_unit = 0;
};

/// Returns the FMA engine, which uses vectorised fused multiply-adds, runs on every CPU and is
/// correct for all inputs. `result` is f32 or f64. The returned engine is for the SIMD target that
/// is active at the time of the call.
const GemmEngine& fma_engine(DType result);

/// Returns the engine for a product of these sizes with matrices of dtypes `a` and `b`. The choice
/// depends only on precision, shape, dtypes and CPU features, never on timing. f64 products always
/// use the FMA engine.
const GemmEngine& choose_engine(DType result, DType a, DType b, Precision precision, std::int64_t m,
                                std::int64_t n, std::int64_t k);

}  // namespace weft::kernels

// Implementation details shared by the files in ops/gemm/; not for use elsewhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "weft/core/rounding.h"
#include "weft/ops/gemm/batch.h"
#include "weft/ops/gemm/tiling.h"
#include "weft/ops/kernel.h"

namespace weft::gemm_detail {

using kernels::GemmEngine;
using kernels::MatrixSource;

// The minimum amount of work in a chunk that packs or sums, and the approximate speed of one core
// for such work, used for Phase::cost_ns.
constexpr std::int64_t kCopiedElementsPerChunk = 1 << 16;
constexpr double kCopiedElementsPerNs = 4;

inline std::size_t times(std::int64_t count, std::size_t bytes) {
  return static_cast<std::size_t>(count) * bytes;
}

// A range along the rows, the columns or the depth.
struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};
inline Range piece(const Range& whole, std::int64_t size, std::int64_t index) {
  const std::int64_t begin = whole.begin + index * size;
  return {begin, std::min(begin + size, whole.end)};
}

// State that is shared by all phases of a batch.
struct GemmJob {
  GemmBatch batch;
  std::function<GemmPointers(const KernelRun&)> pointers;
  TileEpilogue epilogue;
  const GemmEngine* engine = nullptr;
  GemmTiling tiling;
  // Offsets into the kernel's scratch, in bytes. shared_b is relative to shared_begin; slot_a,
  // slot_b and slot_converted are relative to slot_begin.
  std::size_t shared_begin = 0, slot_begin = 0;
  std::size_t shared_b = 0;            // packed B in the shared scratch, after packed A
  std::size_t slot_a = 0, slot_b = 0;  // after the engine's own scratch
  std::size_t slot_converted = 0;      // a converted part of B, before it is packed

  MatrixSource source(const GemmOperand& operand, const void* data, std::int64_t item) const {
    const std::int64_t bytes = static_cast<std::int64_t>(dtype_size(operand.dtype));
    return {static_cast<const std::byte*>(data) + operand.offsets[item] * bytes, operand.dtype,
            operand.row_stride, operand.column_stride};
  }
  std::byte* c_at(void* c, std::int64_t item, std::int64_t row, std::int64_t column) const {
    const std::int64_t offset = batch.c.offsets[item] + row * batch.c.row_stride + column;
    return static_cast<std::byte*>(c) +
           offset * static_cast<std::int64_t>(dtype_size(batch.c.dtype));
  }
  std::int64_t row_panels(std::int64_t rows) const { return divide_up(rows, engine->row_panel); }
  std::int64_t column_panels(std::int64_t columns) const {
    return divide_up(columns, engine->column_panel);
  }
  // Return the offset of a panel within the packed panels of a range. Depth blocks are stored one
  // after another, each with all of its panels.
  std::size_t a_panel(std::int64_t panels, std::int64_t block, std::int64_t panel,
                      std::int64_t depth) const {
    return times(block * panels, engine->a_panel_bytes(engine->depth_block)) +
           times(panel, engine->a_panel_bytes(depth));
  }
  std::size_t b_panel(std::int64_t panels, std::int64_t block, std::int64_t panel,
                      std::int64_t depth) const {
    return times(block * panels, engine->b_panel_bytes(engine->depth_block)) +
           times(panel, engine->b_panel_bytes(depth));
  }
  void run_epilogue(const KernelRun& run, std::int64_t item, const Range& rows,
                    const Range& columns, void* c) const {
    if (epilogue == nullptr || rows.size() == 0 || columns.size() == 0) return;
    epilogue(run, {.item = item,
                   .row = rows.begin,
                   .column = columns.begin,
                   .rows = rows.size(),
                   .columns = columns.size(),
                   .c = c_at(c, item, rows.begin, columns.begin),
                   .c_stride = batch.c.row_stride});
  }
};
using JobRef = std::shared_ptr<const GemmJob>;

// A tile of C, and the part of the depth over which it is summed.
struct Tile {
  std::int64_t item = 0;
  Range rows, columns, depth;
};

// The destination of the sums of a tile: the first element, the row stride in elements, and whether
// to add to the existing values.
struct TileSums {
  std::byte* data = nullptr;
  std::int64_t stride = 0;
  bool accumulate = false;
};

// The packed panels of the rows of A or the columns of B in `extent`. Their first depth block
// begins at `depth_begin`. If `data` is null, the operand is not packed.
struct PackedRange {
  const std::byte* data = nullptr;
  Range extent = {};
  std::int64_t depth_begin = 0;
};

/// Throws DTypeError unless a product of A and B can have the dtype of C.
void check_dtypes(const GemmBatch& batch);

/// Computes one tile on the calling thread. An operand that is not packed is packed here, one block
/// at a time. `own` is the worker's scratch.
void multiply_tile(const GemmJob& job, const KernelRun& run, const Tile& tile,
                   const GemmPointers& at, const PackedRange& a, const PackedRange& b,
                   const TileSums& sums, std::byte* own);

/// Returns the number of bytes of a matrix B that is packed completely. Depth blocks are stored one
/// after another.
std::size_t packed_b_bytes(const GemmJob& job);
/// Packs all matrices of the constant operand B completely, one after another, once for all runs.
PackedInput prepack_b(const JobRef& job, std::size_t input);

/// Appends the phase that adds the partial sums of a split-K product in a fixed order and runs the
/// epilogue. The partial sums are in the shared scratch.
void add_split_k_sum(Kernel& kernel, const JobRef& job, std::int64_t item);

/// The pieces of columns into which skinny products divide a matrix B. A piece reads about 128 KiB.
struct SkinnyPieces {
  std::int64_t count = 1;
  std::int64_t run_length = 1;  // pieces end at multiples of this number of columns
  double bytes = 0;             // of B

  /// Returns the number of chunks for the pieces of `products` products.
  std::int64_t chunks(std::int64_t products) const;
  double cost_ns(std::int64_t products) const;
};
/// Returns the pieces of one of several k x columns matrices, all of which are read.
/// `column_stride` is 1 if the rows are contiguous.
SkinnyPieces skinny_pieces(DType dtype, std::int64_t column_stride, std::int64_t columns,
                           std::int64_t k, std::int64_t matrices);

/// If the job is a skinny product (few rows or columns), appends its phases, which read the large
/// operand without packing it, and returns true. Otherwise, returns false. `reserve(shared, slot)`
/// reserves scratch; both sizes are in bytes.
bool add_skinny_gemm(Kernel& kernel, const std::shared_ptr<GemmJob>& job,
                     const std::function<void(std::size_t, std::size_t)>& reserve);

/// Returns the engine without matrix units that has the bits of skinny products with this B.
const GemmEngine& plain_engine(const GemmBatch& batch);
/// Returns the engine of batch-invariant products, which does not depend on the number of rows.
const GemmEngine& invariant_engine(const GemmBatch& batch);

}  // namespace weft::gemm_detail

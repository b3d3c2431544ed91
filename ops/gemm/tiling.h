// The tiling of a matrix product: the ranges that are packed together, and the tiles of C that
// workers compute.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/gemm_engine.h"

namespace weft {

/// Specifies where and when an operand is packed.
enum class Packing : std::uint8_t {
  per_tile,   // every tile packs its own part into the worker's scratch
  shared,     // all workers pack into shared scratch before the tiles run
  prepacked,  // the operand is constant and was packed before the run (Kernel::packed)
};

/// The tiling of an m x n x k product. It depends only on the sizes and the engine, never on the
/// number of threads.
///
/// Rows, columns and depth are divided into ranges. There is one range of each, unless the shared
/// operands would require too much memory. For each combination of ranges, with the depth as the
/// innermost loop, workers pack the shared operands and then compute the tiles of this part of C.
/// The sizes of row and column ranges and of tiles are multiples of the engine's panel sizes, and
/// the sizes of depth ranges are multiples of its depth block.
struct GemmTiling {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t range_rows = 0, range_columns = 0, range_depth = 0;
  std::int64_t tile_rows = 0, tile_columns = 0;
  Packing a = Packing::per_tile, b = Packing::per_tile;
  /// The number of parts of a split-K product. If it is greater than 1, the depth is divided into
  /// this many parts. The sums over the parts are computed separately, for all tiles in one phase,
  /// and added in order at the end. Requires a single range of rows, columns and depth.
  std::int64_t split_k = 1;

  std::int64_t row_ranges() const;
  std::int64_t column_ranges() const;
  std::int64_t depth_ranges() const;
};

/// Chooses the tiling of a product. `many` is true if there are enough products of this size to
/// keep all workers busy; packed operands are then not shared.
GemmTiling choose_tiling(std::int64_t m, std::int64_t n, std::int64_t k, bool many,
                         const kernels::GemmEngine& engine);

/// Returns the tiling of a product in which reading B is expensive (GemmBatch::convert_b): the
/// tiles are strips of columns that span the rows, so that B is read once. Strips are divided into
/// several tiles if there are few of them. The columns of tiles begin at multiples of 16.
GemmTiling column_strips(std::int64_t m, std::int64_t n, std::int64_t k,
                         const kernels::GemmEngine& engine);

}  // namespace weft

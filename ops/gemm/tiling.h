// The tiling of a matrix product: ranges that are packed together, and tiles of C for the workers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/gemm/engine.h"

namespace weft {

/// Where and when an operand is packed.
enum class Packing : std::uint8_t {
  per_tile,   // every tile packs its own part into the worker's scratch
  shared,     // all workers pack into shared scratch before the tiles run
  prepacked,  // the operand is constant and was packed before the run (Kernel::packed)
};

/// The tiling of an m x n x k product. It depends on the sizes and the engine only, never on the
/// number of threads.
///
/// Rows, columns and depth are divided into ranges: one each, unless the shared operands would take
/// too much memory. For each triple of ranges, depth innermost, workers pack the shared operands
/// and then compute the tiles of that part of C. Range and tile sizes are multiples of the engine's
/// panels, depth ranges of its depth block.
struct GemmTiling {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t range_rows = 0, range_columns = 0, range_depth = 0;
  std::int64_t tile_rows = 0, tile_columns = 0;
  Packing a = Packing::per_tile, b = Packing::per_tile;
  /// A value above 1 means split-K: the depth is divided into this many parts, whose sums are
  /// computed separately, for all tiles in one phase, and added in order at the end. Requires a
  /// single range of rows, columns and depth.
  std::int64_t split_k = 1;

  std::int64_t row_ranges() const;
  std::int64_t column_ranges() const;
  std::int64_t depth_ranges() const;
};

/// Chooses the tiling of a product. `many` is true if there are enough products of this size to
/// feed all workers; packed operands are not shared then.
GemmTiling choose_tiling(std::int64_t m, std::int64_t n, std::int64_t k, bool many,
                         const kernels::GemmEngine& engine);

}  // namespace weft

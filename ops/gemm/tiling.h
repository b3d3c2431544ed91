// How one matrix product is cut: ranges that are packed together, and tiles of C that workers take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/ops/kernels/gemm/engine.h"

namespace weft {

/// Who packs an operand.
enum class Packing : std::uint8_t {
  per_tile,  // every tile its own part, into the worker's scratch
  shared,    // all workers together before the tiles run, into shared scratch
  kept,      // nobody: it is the same at every run and was packed before (Kernel::packed)
};

/// The cut of m x n x k. Follows from sizes and the engine alone, never from the number of threads.
///
/// Rows, columns and depth are cut into ranges (one each unless shared operands would take too much
/// memory); for each triple of ranges, depth innermost, shared operands are packed and the tiles of
/// that part of C run. Range and tile sizes are multiples of the engine's panels, depth ranges of
/// its depth block.
struct ProductPlan {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t range_rows = 0, range_columns = 0, range_depth = 0;
  std::int64_t tile_rows = 0, tile_columns = 0;
  Packing a = Packing::per_tile, b = Packing::per_tile;
  /// More than 1: the depth is cut into so many parts that are summed apart, for all tiles at once,
  /// and added in order at the end. Only with a single range of rows, columns and depth.
  std::int64_t depth_parts = 1;

  std::int64_t row_ranges() const;
  std::int64_t column_ranges() const;
  std::int64_t depth_ranges() const;
};

/// `many` says that there are many such products, which feed the workers by themselves: nothing is
/// shared then.
ProductPlan plan_product(std::int64_t m, std::int64_t n, std::int64_t k, bool many,
                         const kernels::GemmEngine& engine);

}  // namespace weft

#include "weft/ops/gemm/tiling.h"

#include <algorithm>

namespace weft {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t round_up(std::int64_t a, std::int64_t b) { return divide_up(a, b) * b; }
std::int64_t round_down(std::int64_t a, std::int64_t b) { return a / b * b; }

// Shared packed operands of one range stay under this: well inside the last-level cache, and no
// burden for the memory plan.
constexpr std::int64_t kSharedBytes = 16 << 20;
// Enough tiles to feed sixteen workers with little waiting at the end.
constexpr std::int64_t kWantedTiles = 32;
// Multiply-adds below which a tile is not worth being cut further (some 20 us).
constexpr double kSmallTile = 2e6;
// The largest tile: a packed block of A of so many rows and one of B live in the L2 cache together.
constexpr std::int64_t kTileRows = 192, kTileColumns = 256;
// Smaller tiles read packed operands more often than they multiply.
constexpr std::int64_t kLeastRows = 48, kLeastColumns = 64;
// A strip crosses the whole of the other operand, so that its own packing is used for all of it and
// stays in the L2 cache. Narrow ones read the other operand often: only where that fits L2 as well.
constexpr std::int64_t kLeastStrip = 96, kMostStrip = 128;
constexpr std::int64_t kNarrowStripExtent = 512, kNarrowStrip = 32;
constexpr std::int64_t kWantedStrips = 24;
// A depth of fewer blocks is not cut into parts.
constexpr std::int64_t kLeastBlocks = 4;

// Tiles of a grid with full freedom: halved until there are enough of them.
void cut_grid(ProductPlan& plan, std::int64_t rows, std::int64_t columns, double depth,
              const kernels::GemmEngine& engine) {
  const auto row_size = [&](std::int64_t size) { return round_up(size, engine.row_panel); };
  const auto column_size = [&](std::int64_t size) { return round_up(size, engine.column_panel); };
  // Even tiles: 1024 rows are six times 171, not five times 192 and a rest of 64.
  std::int64_t row_tiles = divide_up(rows, kTileRows),
               column_tiles = divide_up(columns, kTileColumns);
  for (;;) {
    plan.tile_rows = row_size(divide_up(rows, row_tiles));
    plan.tile_columns = column_size(divide_up(columns, column_tiles));
    const double work = static_cast<double>(plan.tile_rows * plan.tile_columns) * depth;
    if (row_tiles * column_tiles >= kWantedTiles || work < 2 * kSmallTile) return;
    const bool rows_left = plan.tile_rows >= 2 * kLeastRows;
    const bool columns_left = plan.tile_columns >= 2 * kLeastColumns;
    if (columns_left && (plan.tile_columns > plan.tile_rows || !rows_left)) {
      column_tiles *= 2;
    } else if (rows_left) {
      row_tiles *= 2;
    } else {
      return;
    }
  }
}

// The size of equal pieces of `total`, each at most `most` (at least one multiple).
std::int64_t even_pieces(std::int64_t total, std::int64_t most, std::int64_t multiple) {
  most = std::max(round_down(most, multiple), multiple);
  return round_up(divide_up(total, divide_up(total, most)), multiple);
}

// The width of strips when `large` is cut into strips that cross `small`, or 0 where those would be
// too few or too thin.
std::int64_t strip_width(std::int64_t large, std::int64_t small, std::int64_t panel) {
  const std::int64_t least = small <= kNarrowStripExtent ? kNarrowStrip : kLeastStrip;
  if (large < kWantedStrips * least) return 0;
  return even_pieces(large, std::clamp(large / kWantedTiles, least, kMostStrip), panel);
}

}  // namespace

std::int64_t ProductPlan::row_ranges() const { return divide_up(m, range_rows); }
std::int64_t ProductPlan::column_ranges() const { return divide_up(n, range_columns); }
std::int64_t ProductPlan::depth_ranges() const { return divide_up(k, range_depth); }

ProductPlan plan_product(std::int64_t m, std::int64_t n, std::int64_t k, bool many,
                         const kernels::GemmEngine& engine) {
  ProductPlan plan;
  plan.m = plan.range_rows = m;
  plan.n = plan.range_columns = n;
  plan.k = plan.range_depth = k;
  const auto depth = static_cast<double>(k);
  cut_grid(plan, m, n, depth, engine);
  const double work = static_cast<double>(m) * static_cast<double>(n) * depth;
  const std::int64_t blocks = divide_up(k, engine.depth_block);

  const std::int64_t tiles = divide_up(m, plan.tile_rows) * divide_up(n, plan.tile_columns);
  if (many || work < 4 * kSmallTile) return plan;
  if (tiles < kWantedTiles / 2 && blocks >= kLeastBlocks) {
    // Little of C, much to sum (gradients of narrow weights): the depth feeds the workers, and
    // tiles are large, so that little is packed twice.
    plan.tile_rows = even_pieces(m, kTileRows, engine.row_panel);
    plan.tile_columns = even_pieces(n, kTileColumns, engine.column_panel);
    plan.depth_parts = std::min(
        divide_up(kWantedTiles, divide_up(m, plan.tile_rows) * divide_up(n, plan.tile_columns)),
        blocks);
    return plan;
  }

  const bool rows_large = m > n;
  const std::int64_t large = rows_large ? m : n, small = rows_large ? n : m;
  const std::int64_t large_panel = rows_large ? engine.row_panel : engine.column_panel;
  // Bytes of a packed row or column per step of the depth.
  const auto bytes_of = [&](bool rows) {
    return static_cast<std::int64_t>(rows ? engine.a_panel_bytes(engine.depth_block)
                                          : engine.b_panel_bytes(engine.depth_block)) /
           (rows ? engine.row_panel : engine.column_panel) / engine.depth_block;
  };
  const std::int64_t small_bytes = bytes_of(!rows_large), large_bytes = bytes_of(rows_large);
  const auto depth_within = [&](std::int64_t bytes_per_step) {
    return even_pieces(k, kSharedBytes / bytes_per_step, engine.depth_block);
  };

  if (const std::int64_t width = strip_width(large, small, large_panel); width > 0) {
    std::int64_t& small_range = rows_large ? plan.range_columns : plan.range_rows;
    small_range = even_pieces(small, kSharedBytes / (small_bytes * engine.depth_block),
                              rows_large ? engine.column_panel : engine.row_panel);
    (rows_large ? plan.tile_rows : plan.tile_columns) = width;
    (rows_large ? plan.tile_columns : plan.tile_rows) = small_range;
    (rows_large ? plan.b : plan.a) = Packing::shared;
    plan.range_depth = depth_within(small_range * small_bytes);
    return plan;
  }
  // What only one tile needs is packed by that tile.
  if (plan.tile_columns < n) plan.a = Packing::shared;
  if (plan.tile_rows < m) plan.b = Packing::shared;
  plan.range_depth = depth_within(small * small_bytes + large * large_bytes);
  return plan;
}

}  // namespace weft

#include "weft/ops/gemm/tiling.h"

#include <algorithm>

#include "weft/core/rounding.h"
#include "weft/ops/kernels/gemm/blocks.h"

namespace weft {
namespace {

std::int64_t round_down(std::int64_t a, std::int64_t b) { return a / b * b; }

// The maximum number of bytes of shared scratch for the packed operands of one range. This limit
// keeps them in the last-level cache and the memory plan small.
constexpr std::int64_t kSharedBytes = 16 << 20;
// The desired number of tiles, which keeps sixteen workers busy with little waiting at the end.
constexpr std::int64_t kWantedTiles = 32;
// Tiles with fewer multiply-adds than this (about 20 us of work) are not divided further.
constexpr double kSmallTile = 2e6;
// The size of the largest tile, which consists of one packed block of A and one packed block of B.
constexpr std::int64_t kTileRows = kernels::kBlockRows, kTileColumns = kernels::kBlockColumns;
// The minimum tile size. Smaller tiles would spend more time on reading packed operands than on
// multiplying.
constexpr std::int64_t kMinRows = 48, kMinColumns = 64;
// A strip covers some rows (or columns) of one operand and spans the whole other operand. The
// packed part of the strip is used for the whole other operand and stays in the L2 cache. With
// narrow strips, the other operand is read many times, so narrow strips are used only if it also
// fits into the L2 cache.
constexpr std::int64_t kMinStrip = 96, kMaxStrip = 128;
constexpr std::int64_t kNarrowStripExtent = 512, kNarrowStrip = 32;
constexpr std::int64_t kNarrowStripBytes = 768 << 10;  // of a depth block of the other operand
// The size of the ranges of the other operand if it exceeds kSharedBytes. Every narrow strip reads
// the range, which should be in the L2 cache: 256 x 768 x 50257 becomes 1.1 times as fast at
// medium.
constexpr std::int64_t kNarrowRangeBytes = 1 << 20;
constexpr std::int64_t kWantedStrips = 24;
// The depth is split only if it has at least this many blocks.
constexpr std::int64_t kMinBlocks = 4;

// Divides the product into a grid of tiles by halving tiles until there are enough of them.
void cut_grid(GemmTiling& tiling, std::int64_t rows, std::int64_t columns, double depth,
              const kernels::GemmEngine& engine) {
  const auto row_size = [&](std::int64_t size) { return round_up(size, engine.row_panel); };
  const auto column_size = [&](std::int64_t size) { return round_up(size, engine.column_panel); };
  // Make tiles equally large: 1024 rows become six tiles of 171 rows rather than five tiles of 192
  // rows and one of 64.
  std::int64_t row_tiles = divide_up(rows, kTileRows),
               column_tiles = divide_up(columns, kTileColumns);
  for (;;) {
    tiling.tile_rows = row_size(divide_up(rows, row_tiles));
    tiling.tile_columns = column_size(divide_up(columns, column_tiles));
    const double work = static_cast<double>(tiling.tile_rows * tiling.tile_columns) * depth;
    if (row_tiles * column_tiles >= kWantedTiles || work < 2 * kSmallTile) return;
    // Halves are rounded up to whole panels. With narrow panels, for example, 100 columns become 64
    // and 48.
    const bool rows_left = row_size(divide_up(rows, 2 * row_tiles)) >= kMinRows;
    const bool columns_left = column_size(divide_up(columns, 2 * column_tiles)) >= kMinColumns;
    if (columns_left && (tiling.tile_columns > tiling.tile_rows || !rows_left)) {
      column_tiles *= 2;
    } else if (rows_left) {
      row_tiles *= 2;
    } else {
      return;
    }
  }
}

// Returns the size of the pieces if `total` is divided into equal pieces. The size is a multiple of
// `multiple` and at most `most`, but at least `multiple`.
std::int64_t even_pieces(std::int64_t total, std::int64_t most, std::int64_t multiple) {
  most = std::max(round_down(most, multiple), multiple);
  return round_up(divide_up(total, divide_up(total, most)), multiple);
}

// Returns the number of bytes of a packed row or column per step of the depth.
std::int64_t bytes_of(bool rows, const kernels::GemmEngine& engine) {
  return static_cast<std::int64_t>(rows ? engine.a_panel_bytes(engine.depth_block)
                                        : engine.b_panel_bytes(engine.depth_block)) /
         (rows ? engine.row_panel : engine.column_panel) / engine.depth_block;
}

// Returns the strip width if `large` is divided into strips that span `small`, or 0 if the strips
// would be too few or too narrow. A depth block of the other operand has `bytes` bytes.
std::int64_t strip_width(std::int64_t large, std::int64_t small, std::int64_t bytes,
                         std::int64_t panel) {
  const bool narrow = small <= kNarrowStripExtent && bytes <= kNarrowStripBytes;
  const std::int64_t least = narrow ? kNarrowStrip : kMinStrip;
  if (large < kWantedStrips * least) return 0;
  return even_pieces(large, std::clamp(large / kWantedTiles, least, kMaxStrip), panel);
}

}  // namespace

std::int64_t GemmTiling::row_ranges() const { return divide_up(m, range_rows); }
std::int64_t GemmTiling::column_ranges() const { return divide_up(n, range_columns); }
std::int64_t GemmTiling::depth_ranges() const { return divide_up(k, range_depth); }

GemmTiling choose_tiling(std::int64_t m, std::int64_t n, std::int64_t k, bool many,
                         const kernels::GemmEngine& engine) {
  GemmTiling tiling;
  tiling.m = tiling.range_rows = m;
  tiling.n = tiling.range_columns = n;
  tiling.k = tiling.range_depth = k;
  const auto depth = static_cast<double>(k);
  cut_grid(tiling, m, n, depth, engine);
  const double work = static_cast<double>(m) * static_cast<double>(n) * depth;
  const std::int64_t blocks = divide_up(k, engine.depth_block);

  const std::int64_t tiles = divide_up(m, tiling.tile_rows) * divide_up(n, tiling.tile_columns);
  if (many || work < 4 * kSmallTile) return tiling;
  if (tiles < kWantedTiles / 2 && blocks >= kMinBlocks) {
    // C is small and the depth is large, as in gradients of narrow weights. The depth is split
    // among the workers, and tiles are large, so that few operands are packed more than once.
    tiling.tile_rows = even_pieces(m, kTileRows, engine.row_panel);
    tiling.tile_columns = even_pieces(n, kTileColumns, engine.column_panel);
    tiling.split_k = std::min(
        divide_up(kWantedTiles, divide_up(m, tiling.tile_rows) * divide_up(n, tiling.tile_columns)),
        blocks);
    return tiling;
  }

  const bool rows_large = m > n;
  const std::int64_t large = rows_large ? m : n, small = rows_large ? n : m;
  const std::int64_t large_panel = rows_large ? engine.row_panel : engine.column_panel;
  const std::int64_t small_bytes = bytes_of(!rows_large, engine),
                     large_bytes = bytes_of(rows_large, engine);
  const auto depth_within = [&](std::int64_t bytes_per_step) {
    return even_pieces(k, kSharedBytes / bytes_per_step, engine.depth_block);
  };

  if (const std::int64_t width =
          strip_width(large, small, small * small_bytes * engine.depth_block, large_panel);
      width > 0) {
    std::int64_t& small_range = rows_large ? tiling.range_columns : tiling.range_rows;
    small_range = even_pieces(small, kSharedBytes / (small_bytes * engine.depth_block),
                              rows_large ? engine.column_panel : engine.row_panel);
    (rows_large ? tiling.tile_rows : tiling.tile_columns) = width;
    (rows_large ? tiling.tile_columns : tiling.tile_rows) = small_range;
    (rows_large ? tiling.b : tiling.a) = Packing::shared;
    tiling.range_depth = depth_within(small_range * small_bytes);
    if (tiling.range_depth < k && width < kMinStrip) {
      tiling.range_depth =
          even_pieces(k, kNarrowRangeBytes / (small_range * small_bytes), engine.depth_block);
    }
    return tiling;
  }
  // If only one tile needs a part of an operand, this tile packs the part itself.
  if (tiling.tile_columns < n) tiling.a = Packing::shared;
  if (tiling.tile_rows < m) tiling.b = Packing::shared;
  tiling.range_depth = depth_within(small * small_bytes + large * large_bytes);
  return tiling;
}

GemmTiling column_strips(std::int64_t m, std::int64_t n, std::int64_t k,
                         const kernels::GemmEngine& engine) {
  GemmTiling tiling;
  tiling.m = m;
  tiling.n = tiling.range_columns = n;
  tiling.k = k;
  const std::int64_t panel = std::max<std::int64_t>(engine.column_panel, 16);
  tiling.tile_columns = even_pieces(n, kMaxStrip, panel);
  const std::int64_t row_bytes = bytes_of(true, engine);
  tiling.range_rows =
      even_pieces(m, kSharedBytes / (row_bytes * engine.depth_block), engine.row_panel);
  // Rows are divided only if there are too few strips, because every row tile converts B again.
  const std::int64_t row_tiles =
      std::clamp<std::int64_t>(kWantedTiles / 2 / divide_up(n, tiling.tile_columns), 1,
                               std::max<std::int64_t>(tiling.range_rows / kTileRows, 1));
  tiling.tile_rows = round_up(divide_up(tiling.range_rows, row_tiles), engine.row_panel);
  tiling.range_depth =
      even_pieces(k, kSharedBytes / (row_bytes * tiling.range_rows), engine.depth_block);
  tiling.a = Packing::shared;
  return tiling;
}

}  // namespace weft

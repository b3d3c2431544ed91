// The kernel for AMX-INT8 (TDPBSSD), written for abstract tiles of 16 rows of 64 bytes:
//   template <int t> void zero();
//   template <int t> void load(const void* from, int64_t row_bytes);
//   template <int c, int a, int b> void multiply();  // c += a b
//   template <int t> void store(int32_t* to, int64_t row_bytes);
// The rows that dot-inl.h prepares are tiles of A, and 64 inputs of a panel of int8 weights are a
// tile of B. Both are signed, so sums need no correction.
#pragma once

namespace weft::kernels {
namespace {

constexpr int64_t kTile = 16, kTileInputs = 64, kTileBytes = 1024;
constexpr int64_t kFinishPanels = 8;

/// Two row tiles and two panels; a block uses one or two of each.
struct AmxBlock {
  const std::byte* rows[2];
  int64_t row_bytes;
  const char* panels[2];
  alignas(64) char last[2][kTileBytes];  // the last inputs of the panels, padded with zeros
  int64_t slices, whole;                 // tiles of inputs; complete tiles among them
};

template <class Tiles, int kRowTiles, int kPanels>
void amx_block(Tiles& tiles, const AmxBlock& block, int32_t* sums, int64_t sum_bytes) {
  tiles.template zero<0>();
  if constexpr (kPanels > 1) tiles.template zero<1>();
  if constexpr (kRowTiles > 1) tiles.template zero<2>();
  if constexpr (kRowTiles > 1 && kPanels > 1) tiles.template zero<3>();
  for (int64_t s = 0; s < block.slices; ++s) {
    const auto panel = [&](int p) {
      return s < block.whole ? block.panels[p] + s * kTileBytes : block.last[p];
    };
    tiles.template load<4>(block.rows[0] + s * kTileInputs, block.row_bytes);
    tiles.template load<6>(panel(0), 64);
    tiles.template multiply<0, 4, 6>();
    if constexpr (kPanels > 1) {
      tiles.template load<7>(panel(1), 64);
      tiles.template multiply<1, 4, 7>();
    }
    if constexpr (kRowTiles > 1) {
      tiles.template load<5>(block.rows[1] + s * kTileInputs, block.row_bytes);
      tiles.template multiply<2, 5, 6>();
      if constexpr (kPanels > 1) tiles.template multiply<3, 5, 7>();
    }
  }
  int32_t* const below = sums + kTile * (sum_bytes / 4);
  tiles.template store<0>(sums, sum_bytes);
  if constexpr (kPanels > 1) tiles.template store<1>(sums + kTile, sum_bytes);
  if constexpr (kRowTiles > 1) tiles.template store<2>(below, sum_bytes);
  if constexpr (kRowTiles > 1 && kPanels > 1) tiles.template store<3>(below + kTile, sum_bytes);
}

template <class Tiles>
void amx_block_of(Tiles& tiles, int64_t row_tiles, int64_t panels, const AmxBlock& block,
                  int32_t* sums, int64_t sum_bytes) {
  if (row_tiles > 1) {
    panels > 1 ? amx_block<Tiles, 2, 2>(tiles, block, sums, sum_bytes)
               : amx_block<Tiles, 2, 1>(tiles, block, sums, sum_bytes);
  } else {
    panels > 1 ? amx_block<Tiles, 1, 2>(tiles, block, sums, sum_bytes)
               : amx_block<Tiles, 1, 1>(tiles, block, sums, sum_bytes);
  }
}

/// Multiplies at least 16 rows by int8 weights. The last tile of rows may overlap the tile before
/// it and repeat its results. The sums of 128 columns are collected in the L1 cache, so that
/// rows of y are written in whole.
template <class Tiles>
void amx_int8(Tiles& tiles, const QuantizedWeights& w, const std::byte* prepared,
              const float* steps, int64_t rows, int64_t begin, int64_t end, float* y,
              int64_t stride) {
  const int64_t words = (w.inputs + 3) / 4, row_bytes = static_cast<int64_t>(dot_row_bytes(w));
  const int64_t tile_count = (rows + kTile - 1) / kTile;
  const auto row_of = [&](int64_t tile) {
    const int64_t row = tile * kTile;
    return row + kTile <= rows ? row : rows - kTile;
  };
  AmxBlock block;
  block.row_bytes = row_bytes;
  block.slices = (words + 15) / 16;
  block.whole = words / 16;
  alignas(64) int32_t sums[2 * kTile * kFinishPanels * kPanel];
  constexpr int64_t kWidth = kFinishPanels * kPanel;
  for (int64_t first = begin; first < end; first += kFinishPanels) {
    const int64_t last = first + kFinishPanels < end ? first + kFinishPanels : end;
    for (int64_t tile = 0; tile < tile_count; tile += 2) {
      const int64_t row_tiles = tile + 2 <= tile_count ? 2 : 1;
      for (int64_t t = 0; t < row_tiles; ++t)
        block.rows[t] = prepared + row_of(tile + t) * row_bytes;
      for (int64_t panel = first; panel < last; panel += 2) {
        const int64_t panels = panel + 2 <= last ? 2 : 1;
        for (int64_t p = 0; p < panels; ++p) {
          block.panels[p] = static_cast<const char*>(w.q) + (panel + p) * words * 64;
          if (block.whole == block.slices) continue;
          const int64_t bytes = (words - block.whole * 16) * 64;
          memset(block.last[p], 0, sizeof(block.last[p]));
          memcpy(block.last[p], block.panels[p] + block.whole * kTileBytes,
                 static_cast<size_t>(bytes));
        }
        amx_block_of(tiles, row_tiles, panels, block, sums + (panel - first) * kPanel, kWidth * 4);
      }
      const int64_t column = first * kPanel;
      const int64_t columns = (last * kPanel < w.outputs ? last * kPanel : w.outputs) - column;
      const auto* const scale = static_cast<const float*>(w.scale);
      for (int64_t r = 0; r < row_tiles * kTile; ++r) {
        const int64_t row = row_of(tile + r / kTile) + r % kTile;
        float* const to = y + row * stride + column;
        int32_t* const from = sums + r * kWidth;
        if (w.start != nullptr) {
          for (int64_t j = 0; j < columns; ++j) from[j] += w.start[column + j];
        }
        if (scale == nullptr) {
          memcpy(to, from, static_cast<size_t>(columns) * 4);
          continue;
        }
        const float step = steps[row];
        for (int64_t j = 0; j < columns; ++j)
          to[j] = static_cast<float>(from[j]) * step * scale[column + j];
      }
    }
  }
}

}  // namespace
}  // namespace weft::kernels

// Packed panels of bfloat16 terms: the operands of the split-float kernels.
//
// A float x is split into bfloat16 terms: the first is x rounded to the nearest, the next what is
// missing, and so on. Each is at most 2^-8 of the one before, and three hold x exactly. A product
// of matrices is then the sum of the products of their terms, of which the smallest are left out:
//
//   terms  products                            left out, relative to |a b|, at most
//   1      1: a0 b0                            2^-7
//   2      3: a0 b0, a0 b1, a1 b0              3 2^-16
//   3      6: those, a0 b2, a1 b1, a2 b0       2^-23 (a unit in the last place of a float)
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::kernels {

/// Rows of a panel of A, columns of a panel of B: two tiles.
inline constexpr std::int64_t kBf16Panel = 32;
/// Rows of a tile of A, columns of a tile of B, and pairs of entries along K in either.
inline constexpr std::int64_t kTileSide = 16;
/// Depth of a tile: 16 pairs.
inline constexpr std::int64_t kTileDepth = 32;
inline constexpr std::int64_t kTileBytes = 1024;

/// The magnitudes of a panel's entries, as the bits of their absolute values (which order as the
/// values do). They decide whether bfloat16 terms can carry a product.
struct alignas(64) PanelRange {
  std::uint32_t largest[kBf16Panel];   // per row of A or column of B; 0 if all are zero
  std::uint32_t smallest[kBf16Panel];  // of those that are not zero; ~0 if all are
  std::uint32_t panel_largest, panel_smallest;
};

/// A panel is a PanelRange, then slices of 32 of K; a slice is its terms from the first to the
/// last; a term is two tiles (rows or columns 0-15 and 16-31); a tile is 16 x 16 pairs of bfloat16,
/// the entry with the smaller k in the lower half. A tile of A is row by row (a row is 16 pairs), a
/// tile of B pair by pair (a row is one pair of each of 16 columns): as AMX wants its operands.
/// Entries beyond the matrix are zero, but the second tiles of a panel with at most 16 rows or
/// columns are left as they were.
constexpr std::int64_t bf16_slices(std::int64_t depth) {
  return (depth + kTileDepth - 1) / kTileDepth;
}
constexpr std::size_t bf16_panel_bytes(int terms, std::int64_t depth) {
  return sizeof(PanelRange) + static_cast<std::size_t>(bf16_slices(depth) * terms * 2 * kTileBytes);
}

inline const PanelRange& panel_range(const std::byte* panel) {
  return *reinterpret_cast<const PanelRange*>(panel);
}
inline const std::byte* panel_tiles(const std::byte* panel) { return panel + sizeof(PanelRange); }

/// Whether bfloat16 terms carry the products of entries with these magnitudes in sums over `depth`:
/// no infinity or NaN, nothing that rounds past the largest bfloat16, no sum that might overflow,
/// and nothing so small that a term or a product of terms might be denormal (matrix units take
/// denormals for zero): entries of at least 2^-100, products of at least 2^-100, of which the
/// terms' parts reach down to 2^-125.
bool carried_by_terms(std::uint32_t largest_a, std::uint32_t smallest_a, std::uint32_t largest_b,
                      std::uint32_t smallest_b, std::int64_t depth);

}  // namespace weft::kernels

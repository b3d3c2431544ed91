// Packed panels of bfloat16 terms: the operands of the split-float kernels.
//
// A float x is split into bfloat16 terms: the first is x rounded to nearest, the second is the
// remainder rounded to nearest, and so on. Each term is at most 2^-8 of the one before, and three
// terms represent x exactly. A product of matrices is then the sum of the products of their terms,
// of which the smallest are omitted:
//
//   terms  products                            bound of the omitted part, relative to |a b|
//   1      1: a0 b0                            2^-7
//   2      3: a0 b0, a0 b1, a1 b0              3 2^-16
//   3      6: those, a0 b2, a1 b1, a2 b0       2^-23 (one unit in the last place of a float)
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

/// The magnitudes of the entries of a panel, as the bits of their absolute values (which have the
/// same order as the values). They determine whether a product is representable by bfloat16 terms.
struct alignas(64) PanelRange {
  std::uint32_t largest[kBf16Panel];   // per row of A or column of B; 0 if all are zero
  std::uint32_t smallest[kBf16Panel];  // of the non-zero entries; ~0 if all are zero
  std::uint32_t panel_largest, panel_smallest;
};

/// A panel consists of a PanelRange and slices of depth 32. A slice consists of its terms, from the
/// first to the last; a term of two tiles (rows or columns 0-15 and 16-31); a tile of 16 x 16 pairs
/// of bfloat16, with the entry of the smaller k in the lower half. A tile of A is stored row by row
/// (a row is 16 pairs), a tile of B pair by pair (a row is one pair of each of 16 columns), which
/// is the operand layout of AMX. Entries outside the matrix are zero, except that the second tiles
/// of a panel with at most 16 rows or columns are not written.
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

/// Returns true if the products of entries with these magnitudes, in sums over `depth`, are
/// representable by bfloat16 terms. This excludes infinities and NaN, entries that round past the
/// largest bfloat16, sums that might overflow, and entries so small that a term or a product of
/// terms might be denormal (matrix units treat denormals as zero). Entries and products must be at
/// least 2^-100, so that the products of their terms are at least 2^-125.
bool representable_by_terms(std::uint32_t largest_a, std::uint32_t smallest_a,
                            std::uint32_t largest_b, std::uint32_t smallest_b, std::int64_t depth);

}  // namespace weft::kernels

// Packed panels of bfloat16 terms, which are the operands of the split-float kernels.
//
// A float x is split into bfloat16 terms. The first term is x rounded to nearest, the second term
// is the remainder rounded to nearest, and so on. Each term is at most 2^-8 times the preceding
// term, and three terms represent x exactly. A matrix product is then the sum of the products of
// the terms, of which the smallest are omitted:
//
//   terms  products                            bound on the omitted part, relative to |a b|
//   1      1: a0 b0                            2^-7
//   2      3: a0 b0, a0 b1, a1 b0              3 2^-16
//   3      6: those, a0 b2, a1 b1, a2 b0       2^-23 (one unit in the last place of a float)
//
// If all entries of B are bfloat16 numbers, its other terms are zero. One, two or three products
// then compute the sums of one, two or three terms: 2^-8, 2^-16 or nothing is omitted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::kernels {

/// The number of rows of a panel of A and of columns of a panel of B, which is the size of two
/// tiles.
inline constexpr std::int64_t kBf16Panel = 32;
/// The number of rows of a tile of A, of columns of a tile of B, and of pairs of entries along K in
/// both.
inline constexpr std::int64_t kTileSide = 16;
/// The depth of a tile, which is 16 pairs.
inline constexpr std::int64_t kTileDepth = 32;
inline constexpr std::int64_t kTileBytes = 1024;

/// The range of the magnitudes of the entries in a panel. Magnitudes are stored as the bits of the
/// absolute values, which have the same order as the values. They determine whether a product can
/// be represented by bfloat16 terms.
struct alignas(64) PanelRange {
  std::uint32_t largest[kBf16Panel];   // per row of A or column of B; 0 if all are zero
  std::uint32_t smallest[kBf16Panel];  // among the non-zero entries; ~0 if all are zero
  std::uint32_t panel_largest, panel_smallest;
};

/// The panel layout. A panel consists of a PanelRange and slices of depth 32. A slice consists of
/// its terms, from the first to the last. A term consists of two tiles (rows or columns 0-15 and
/// 16-31). A tile consists of 16 x 16 pairs of bfloat16, with the entry for the smaller k in the
/// lower half. Tiles of A are stored row by row (each row has 16 pairs), and tiles of B pair by
/// pair (each row has one pair from each of 16 columns), which is the operand layout of AMX.
/// Entries outside the matrix are zero, except that the second tiles of a panel with at most 16
/// rows or columns are not written.
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

/// Returns true if the products of entries with these magnitudes, in sums over `depth`, can be
/// represented by bfloat16 terms. This excludes infinities and NaN, entries that round to more than
/// the largest bfloat16, sums that might overflow, and entries that are so small that a term or a
/// product of terms might be denormal (matrix units treat denormals as zero). Entries and products
/// must be at least 2^-100, so that the products of their terms are at least 2^-125.
bool representable_by_terms(std::uint32_t largest_a, std::uint32_t smallest_a,
                            std::uint32_t largest_b, std::uint32_t smallest_b, std::int64_t depth);

}  // namespace weft::kernels

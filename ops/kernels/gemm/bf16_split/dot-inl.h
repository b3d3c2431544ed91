// Computes blocks of C with dot products of pairs (VDPBF16PS). The code uses an abstract vector
// type, so that the code for AVX512_BF16 can also run, and be tested, with the emulated
// instruction.
//
// Like amx-inl.h, this header must not use inline functions from a library and is included inside a
// target region.
//
// Unit is a type with the following members:
//   Sums      16 sums:                  static Sums zero();
//                                       static void store(const Sums&, float* c, bool add);
//                                       static void totals(const Sums*, float*): the totals of
//                                       four vectors of sums
//   Pairs     a pair of 16 columns, or 16 pairs of one column:
//                                       static Pairs load(const void* pairs);
//                                       static Pairs load_part(const void*, int64_t entries);
//   static void dot(Sums& sums, uint32_t pair, const Pairs& pairs);   sums[j] += pair . pairs[j]
//   static void dot(Sums& sums, const Pairs& a, const Pairs& b);      sums[j] += a[j] . b[j]
//   Smallest  the smallest magnitude:   static Smallest none();
//                                       static void note(Smallest& smallest, const Pairs& pairs);
//                                       static uint32_t bits(const Smallest& smallest);
#ifndef WEFT_OPS_KERNELS_GEMM_BF16_SPLIT_DOT_INL_H_
#define WEFT_OPS_KERNELS_GEMM_BF16_SPLIT_DOT_INL_H_

#include <stddef.h>
#include <stdint.h>

#include "weft/ops/kernels/gemm/bf16_split/panel.h"
#include "weft/ops/kernels/gemm/bf16_split/unit.h"

namespace weft::kernels {
namespace {

// Computes kRows rows and kTiles times 16 columns of C. The rows of A are 16 words apart in both
// tiles of a panel.
template <class Unit, int kRows, int kTiles>
void dot_block(const uint32_t* a, const uint32_t* b, int64_t slices, float* c, int64_t c_stride,
               bool add, const uint32_t* next) {
  constexpr int64_t tile = kTileBytes / 4;
  typename Unit::Sums sums[kRows * kTiles];
#pragma GCC unroll 32
  for (int s = 0; s < kRows * kTiles; ++s) sums[s] = Unit::zero();
    // Large results are not in a cache. Their rows may begin anywhere in a cache line.
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    float* const row = c + r * c_stride;
#pragma GCC unroll 2
    for (int t = 0; t < kTiles; ++t) __builtin_prefetch(row + t * kTileSide, 1);
    __builtin_prefetch(row + kTiles * kTileSide - 1, 1);
  }
  for (int64_t slice = 0; slice < slices; ++slice) {
    for (int64_t q = 0; q < kTileSide; ++q) {
      typename Unit::Pairs columns[kTiles];
#pragma GCC unroll 2
      for (int t = 0; t < kTiles; ++t) columns[t] = Unit::load(b + q * kTileSide + t * tile);
      __builtin_prefetch(next + q * kTileSide, 0, 2);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const uint32_t pair = a[r * kTileSide + q];
#pragma GCC unroll 2
        for (int t = 0; t < kTiles; ++t) Unit::dot(sums[r * kTiles + t], pair, columns[t]);
      }
    }
    a += 2 * tile;
    b += 2 * tile;
    next += tile;
  }
#pragma GCC unroll 32
  for (int s = 0; s < kRows * kTiles; ++s) {
    Unit::store(sums[s], c + s / kTiles * c_stride + s % kTiles * kTileSide, add);
  }
}

// Computes C = A B, or C += A B if `add`, for the tiles of two panels with one term. C has
// row_tiles x column_tiles tiles; both numbers are 1 or 2. With two column tiles, each broadcast
// pair is used for two products, so 22 products require 13 loads. With 16 rows and one column tile,
// 16 products would require 17 loads.
template <class Unit>
void dot_gemm(const void* a_tiles, const void* b_tiles, int64_t slices, int64_t row_tiles,
              int64_t column_tiles, float* c, int64_t c_stride, bool add, const void* next_tiles) {
  const uint32_t* a = static_cast<const uint32_t*>(a_tiles);
  const uint32_t* b = static_cast<const uint32_t*>(b_tiles);
  // The first two blocks prefetch the next panel, one line for each step along K.
  const uint32_t* next = static_cast<const uint32_t*>(next_tiles);
  const auto block = [&](auto kernel, int64_t row) {
    const int64_t part = row == 0 ? 0 : slices * kTileBytes / 4;
    kernel(a + row * kTileSide, b, slices, c + row * c_stride, c_stride, add, next + part);
  };
  if (column_tiles == 1) {
    block(dot_block<Unit, 16, 1>, 0);
    if (row_tiles == 2) block(dot_block<Unit, 16, 1>, 16);
  } else if (row_tiles == 1) {
    block(dot_block<Unit, 8, 2>, 0);
    block(dot_block<Unit, 8, 2>, 8);
  } else {
    block(dot_block<Unit, 11, 2>, 0);
    block(dot_block<Unit, 11, 2>, 11);
    block(dot_block<Unit, 10, 2>, 22);
  }
}

// Adds the products of a slice of kRows rows and kColumns columns. A part of a slice has `entries`
// entries.
template <bool kPart, class Unit, int kRows, int kColumns>
inline __attribute__((always_inline)) void add_slice(const uint32_t* a,
                                                     const uint16_t* const* columns, int64_t p,
                                                     int64_t entries, int64_t ahead,
                                                     typename Unit::Sums* sums,
                                                     typename Unit::Smallest& smallest) {
  typename Unit::Pairs b[kColumns];
#pragma GCC unroll 4
  for (int q = 0; q < kColumns; ++q) {
    __builtin_prefetch(columns[q] + p + ahead, 0, 2);
    b[q] = kPart ? Unit::load_part(columns[q] + p, entries) : Unit::load(columns[q] + p);
    Unit::note(smallest, b[q]);
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    const typename Unit::Pairs row = Unit::load(a + r * kTileSide);
#pragma GCC unroll 4
    for (int q = 0; q < kColumns; ++q) Unit::dot(sums[r * kColumns + q], row, b[q]);
  }
}

// Computes the dot products of kRows rows and kColumns columns. Slices of A are `a_stride` words
// apart.
template <class Unit, int kRows, int kColumns>
void dot_few(const uint32_t* a, int64_t a_stride, const uint16_t* const* columns, int64_t depth,
             int64_t ahead, float* dots, typename Unit::Smallest& smallest) {
  typename Unit::Sums sums[kRows * kColumns];
#pragma GCC unroll 16
  for (int s = 0; s < kRows * kColumns; ++s) sums[s] = Unit::zero();
  int64_t p = 0;
  for (; p + kTileDepth <= depth; p += kTileDepth, a += a_stride)
    add_slice<false, Unit, kRows, kColumns>(a, columns, p, kTileDepth, ahead, sums, smallest);
  if (p < depth)
    add_slice<true, Unit, kRows, kColumns>(a, columns, p, depth - p, ahead, sums, smallest);
  float totals[kRows * kColumns];
#pragma GCC unroll 4
  for (int s = 0; s < kRows * kColumns; s += 4) Unit::totals(sums + s, totals + s);
  for (int s = 0; s < kRows * kColumns; ++s)
    dots[s / kColumns * kDotColumns + s % kColumns] = totals[s];
}

// See DotColumns. 16 sums hide the latency of the instructions. More rows than 8 are processed in
// two steps, the second of which finds the columns in a cache.
template <class Unit>
uint32_t dot_columns(const void* a_rows, int64_t rows, const void* b, int64_t b_stride,
                     int64_t columns, int64_t depth, int64_t ahead, float* dots) {
  const uint32_t* a = static_cast<const uint32_t*>(a_rows);
  const uint16_t* at[kDotColumns];
  for (int64_t q = 0; q < kDotColumns; ++q)
    at[q] = static_cast<const uint16_t*>(b) + (q < columns ? q : columns - 1) * b_stride;
  typename Unit::Smallest smallest = Unit::none();
  const int64_t step = rows >= 8 ? 2 : 4, a_stride = rows * kTileSide;
  const auto few = rows == 1   ? dot_few<Unit, 1, 4>
                   : rows == 2 ? dot_few<Unit, 2, 4>
                   : rows == 4 ? dot_few<Unit, 4, 4>
                               : dot_few<Unit, 8, 2>;
  for (int64_t q = 0; q < columns; q += step) {
    for (int64_t r = 0; r < rows; r += 8)
      few(a + r * kTileSide, a_stride, at + q, depth, ahead, dots + r * kDotColumns + q, smallest);
  }
  return Unit::bits(smallest);
}

// See RoundRow. Compilers vectorise these loops for the unit's CPU.
inline void round_row(const float* row, int64_t depth, void* to, int64_t stride, uint32_t* largest,
                      uint32_t* smallest) {
  uint32_t high = 0, low = ~0u;
  char* slice = static_cast<char*>(to);
  for (int64_t p = 0; p < depth; p += kTileDepth, slice += stride) {
    uint32_t bits[kTileDepth] = {};
    uint16_t rounded[kTileDepth];
    const int64_t entries = depth - p < kTileDepth ? depth - p : kTileDepth;
    __builtin_memcpy(bits, row + p, static_cast<size_t>(entries) * sizeof(float));
    for (int64_t i = 0; i < kTileDepth; ++i) {
      const uint32_t magnitude = bits[i] & 0x7FFFFFFFu;
      high = high > magnitude ? high : magnitude;
      // Zeros wrap around to the largest number and are ignored.
      low = low < magnitude - 1 ? low : magnitude - 1;
      rounded[i] = static_cast<uint16_t>((bits[i] + 0x7FFFu + (bits[i] >> 16 & 1u)) >> 16);
    }
    __builtin_memcpy(slice, rounded, sizeof(rounded));
  }
  *largest = high;
  *smallest = low == ~0u ? low : low + 1;
}

}  // namespace
}  // namespace weft::kernels

#endif  // WEFT_OPS_KERNELS_GEMM_BF16_SPLIT_DOT_INL_H_

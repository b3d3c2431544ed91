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
//   Pairs     a pair of 16 columns:     static Pairs load(const uint32_t* pairs);
//   static void dot(Sums& sums, uint32_t pair, const Pairs& pairs);   sums[j] += pair . pairs[j]
#ifndef WEFT_OPS_KERNELS_GEMM_BF16_SPLIT_DOT_INL_H_
#define WEFT_OPS_KERNELS_GEMM_BF16_SPLIT_DOT_INL_H_

#include <stddef.h>
#include <stdint.h>

#include "weft/ops/kernels/gemm/bf16_split/panel.h"

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

}  // namespace
}  // namespace weft::kernels

#endif  // WEFT_OPS_KERNELS_GEMM_BF16_SPLIT_DOT_INL_H_

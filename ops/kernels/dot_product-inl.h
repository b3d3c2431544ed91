// A tile of C by dot products of pairs (VDPBF16PS), written over an abstract accumulator, so that
// the code which runs on AVX512_BF16 also runs, and is tested, on the emulated instruction.
//
// As in tile_product-inl.h: no inline functions of a library, included inside a target region.
//
// Sums is a type of 16 x 16 sums with
//   void zero();
//   void add(const uint32_t* a, const uint32_t* b);   sum(i, j) += dot(a[16 i], b[j])
//   void store(float* c, int64_t stride);
#ifndef WEFT_OPS_KERNELS_DOT_PRODUCT_INL_H_
#define WEFT_OPS_KERNELS_DOT_PRODUCT_INL_H_

#include <stddef.h>
#include <stdint.h>

#include "weft/ops/kernels/split_panel.h"

namespace weft::kernels {
namespace {

// C (row_tiles x column_tiles tiles, each 1 or 2) = A B for the tiles of two panels of one term.
template <class Sums>
void dot_product(const void* a_tiles, const void* b_tiles, int64_t slices, int64_t row_tiles,
                 int64_t column_tiles, float* c, int64_t c_stride) {
  constexpr int64_t tile = kTileBytes / 4, slice = 2 * tile;
  Sums sums;
  for (int64_t j = 0; j < column_tiles; ++j) {
    for (int64_t i = 0; i < row_tiles; ++i) {
      const uint32_t* a = static_cast<const uint32_t*>(a_tiles) + i * tile;
      const uint32_t* b = static_cast<const uint32_t*>(b_tiles) + j * tile;
      sums.zero();
      for (int64_t s = 0; s < slices; ++s) {
        for (int64_t q = 0; q < kTileSide; ++q) sums.add(a + q, b + q * kTileSide);
        a += slice;
        b += slice;
      }
      sums.store(c + i * kTileSide * c_stride + j * kTileSide, c_stride);
    }
  }
}

}  // namespace
}  // namespace weft::kernels

#endif  // WEFT_OPS_KERNELS_DOT_PRODUCT_INL_H_

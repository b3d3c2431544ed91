// Computes a block of C from panels of bfloat16 terms. The code uses an abstract set of eight tile
// registers, so that the code for AMX can also run, and be tested, on emulated tiles.
//
// This header must not use inline functions from a library, because it is compiled inside a target
// region of the including file for features that only some CPUs have.
//
// Tiles is a type with the following members:
//   template <int t> void zero();                      tile t = 0
//   template <int t> void load(const void* tile);      tile t = 1024 bytes
//   template <int c, int a, int b> void multiply();    tile c += tile a times tile b
//   template <int t> void store(float* c, int64_t stride, bool add);  c = or += tile t
#ifndef WEFT_OPS_KERNELS_GEMM_BF16_SPLIT_AMX_INL_H_
#define WEFT_OPS_KERNELS_GEMM_BF16_SPLIT_AMX_INL_H_

#include <stddef.h>
#include <stdint.h>

#include "weft/ops/kernels/gemm/bf16_split/panel.h"

namespace weft::kernels {
namespace {  // every unit has its own copy, compiled for the CPUs that support it

// Computes kRowTiles x kColumnTiles tiles of C (each is 1 or 2) as the sum of the products of terms
// t of A and u of B with t + u < kTerms and u < kBTerms. Tiles 0-3 hold C, tiles 4 and 5 hold two
// tiles of A, and tiles 6 and 7 hold two tiles of B.
//
// AMX is limited by loads rather than products: a product takes 16 cycles, and a load from L2 takes
// longer. The pairs of terms are therefore visited along a path on which only one of the two terms
// changes in each step. This requires 14 loads for 24 products with three terms, 8 loads for 12
// products with two terms, and 4 loads for 4 products with one term. If B has one term, three terms
// of A require 8 loads for 12 products. Four tiles of C also hide the latency of a product (52
// cycles), which two tiles would not.
template <class Tiles, int kTerms, int kBTerms, int kRowTiles, int kColumnTiles>
struct TileGemm {
  Tiles& tiles;

  template <int kTerm>
  void load_a(const char* slice) {
    constexpr int64_t offset = kTerm * 2 * kTileBytes;
    tiles.template load<4>(slice + offset);
    if constexpr (kRowTiles == 2) tiles.template load<5>(slice + offset + kTileBytes);
  }

  template <int kTerm>
  void load_b(const char* slice) {
    constexpr int64_t offset = kTerm * 2 * kTileBytes;
    tiles.template load<6>(slice + offset);
    if constexpr (kColumnTiles == 2) tiles.template load<7>(slice + offset + kTileBytes);
  }

  void multiply() {
    tiles.template multiply<0, 4, 6>();
    if constexpr (kColumnTiles == 2) tiles.template multiply<1, 4, 7>();
    if constexpr (kRowTiles == 2) tiles.template multiply<2, 5, 6>();
    if constexpr (kRowTiles == 2 && kColumnTiles == 2) tiles.template multiply<3, 5, 7>();
  }

  void run(const char* a, const char* b, int64_t slices, float* c, int64_t c_stride, bool add) {
    tiles.template zero<0>();
    if constexpr (kColumnTiles == 2) tiles.template zero<1>();
    if constexpr (kRowTiles == 2) tiles.template zero<2>();
    if constexpr (kRowTiles == 2 && kColumnTiles == 2) tiles.template zero<3>();
    for (int64_t s = 0; s < slices; ++s) {
      if constexpr (kTerms == 1) {
        load_a<0>(a), load_b<0>(b), multiply();
      } else if constexpr (kBTerms == 1) {
        load_b<0>(b);
        if constexpr (kTerms == 3) load_a<2>(a), multiply();
        load_a<1>(a), multiply();
        load_a<0>(a), multiply();
      } else if constexpr (kTerms == 2) {
        load_a<1>(a), load_b<0>(b), multiply();
        load_a<0>(a), multiply();
        load_b<1>(b), multiply();
      } else {
        load_a<2>(a), load_b<0>(b), multiply();
        load_a<1>(a), multiply();
        load_a<0>(a), multiply();
        load_b<2>(b), multiply();
        load_b<1>(b), multiply();
        load_a<1>(a), multiply();
      }
      a += kTerms * 2 * kTileBytes;
      b += kBTerms * 2 * kTileBytes;
    }
    tiles.template store<0>(c, c_stride, add);
    if constexpr (kColumnTiles == 2) tiles.template store<1>(c + kTileSide, c_stride, add);
    if constexpr (kRowTiles == 2) tiles.template store<2>(c + kTileSide * c_stride, c_stride, add);
    if constexpr (kRowTiles == 2 && kColumnTiles == 2) {
      tiles.template store<3>(c + kTileSide * c_stride + kTileSide, c_stride, add);
    }
  }
};

// Computes C = A B, or C += A B if `add`, for the tiles of two panels. C has row_tiles x
// column_tiles tiles; both numbers are 1 or 2.
template <class Tiles, int kTerms, int kBTerms>
void tile_gemm(Tiles& tiles, const void* a_tiles, const void* b_tiles, int64_t slices,
               int64_t row_tiles, int64_t column_tiles, float* c, int64_t c_stride, bool add) {
  const char* a = static_cast<const char*>(a_tiles);
  const char* b = static_cast<const char*>(b_tiles);
  if (row_tiles == 2 && column_tiles == 2) {
    TileGemm<Tiles, kTerms, kBTerms, 2, 2>{tiles}.run(a, b, slices, c, c_stride, add);
  } else if (row_tiles == 2) {
    TileGemm<Tiles, kTerms, kBTerms, 2, 1>{tiles}.run(a, b, slices, c, c_stride, add);
  } else if (column_tiles == 2) {
    TileGemm<Tiles, kTerms, kBTerms, 1, 2>{tiles}.run(a, b, slices, c, c_stride, add);
  } else {
    TileGemm<Tiles, kTerms, kBTerms, 1, 1>{tiles}.run(a, b, slices, c, c_stride, add);
  }
}

}  // namespace
}  // namespace weft::kernels

#endif  // WEFT_OPS_KERNELS_GEMM_BF16_SPLIT_AMX_INL_H_

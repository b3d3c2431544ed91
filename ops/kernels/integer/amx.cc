// AMX-INT8. See vnni.cc for the target region. Not verified on hardware.
#include <stdint.h>
#include <string.h>

#include "weft/ops/kernels/integer/integer_product.h"

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("amx-tile,amx-int8,avx512f,avx512bw"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("amx-tile,amx-int8,avx512f,avx512bw")
#endif

#include "weft/ops/kernels/integer/dot-inl.h"
// amx-inl.h uses the rows of dot-inl.h.
#include "weft/ops/kernels/integer/amx-inl.h"

namespace weft::kernels {
namespace {

// The operand of LDTILECFG.
struct alignas(64) TileConfig {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
};
static_assert(sizeof(TileConfig) == 64);

// The tile registers. They are accessed by inline assembly, because the intrinsics accept tile
// numbers only as literals, which templates cannot provide.
struct AmxTiles {
  AmxTiles() {
    TileConfig config = {};
    config.palette = 1;
    for (int t = 0; t < 8; ++t) {
      config.row_bytes[t] = 64;
      config.rows[t] = 16;
    }
    // The clobber forces the whole configuration to be written to memory. The intrinsic in g++ 12
    // has no such clobber.
    __asm__ volatile("ldtilecfg (%0)" : : "r"(&config) : "memory");
  }
  ~AmxTiles() { __asm__ volatile("tilerelease"); }
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;

  template <int t>
  void zero() {
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(t));
  }
  template <int t>
  void load(const void* from, int64_t row_bytes) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2"
                     :
                     : "r"(from), "r"(row_bytes), "i"(t)
                     : "memory");
  }
  template <int c, int a, int b>
  void multiply() {
    __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(c), "i"(a), "i"(b));
  }
  template <int t>
  void store(int32_t* to, int64_t row_bytes) {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)"
                     :
                     : "r"(to), "r"(row_bytes), "i"(t)
                     : "memory");
  }
};

// The sums of groups of 32 inputs leave the tiles too often for AMX, so q8_0 and int4 use VPDPBUSD,
// which all CPUs with AMX have.
void amx_product(const QuantizedWeights& w, const std::byte* prepared, const float* steps,
                 int64_t rows, int64_t begin, int64_t end, float* y, int64_t stride) {
  if (is_grouped(w) || rows < kTile) {
    vnni_kernels().product(w, prepared, steps, rows, begin, end, y, stride);
    return;
  }
  AmxTiles tiles;
  amx_int8(tiles, w, prepared, steps, rows, begin, end, y, stride);
}

// Four independent tiles of sums hide the latency.
double amx_chains(int64_t rounds) {
  alignas(64) int32_t sums[kTile * 16] = {};
  AmxTiles tiles;
  tiles.load<4>(sums, 64);
  tiles.load<6>(sums, 64);
  tiles.zero<0>(), tiles.zero<1>(), tiles.zero<2>(), tiles.zero<3>();
  for (int64_t r = 0; r < rounds; ++r) {
    tiles.multiply<0, 4, 6>();
    tiles.multiply<1, 4, 6>();
    tiles.multiply<2, 4, 6>();
    tiles.multiply<3, 4, 6>();
  }
  tiles.store<0>(sums, 64);
  return static_cast<double>(rounds) * 4 * kTile * kTile * kTileInputs;
}

}  // namespace
}  // namespace weft::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace weft::kernels {
const IntegerKernels& amx_int8_kernels() {
  static const IntegerKernels kernels = {vnni_kernels().row_bytes, vnni_kernels().prepare,
                                         amx_product, amx_chains};
  return kernels;
}
}  // namespace weft::kernels

#else

namespace weft::kernels {
const IntegerKernels& amx_int8_kernels() { return madd_kernels(); }
}  // namespace weft::kernels

#endif

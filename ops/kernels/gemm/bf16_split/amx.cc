// Products of panels on AMX tiles. This file does not use Highway, which does not support AMX. The
// CPU is selected by target regions instead of compiler flags for the file, so that no inline
// function from a library is compiled for AMX and then linked into code for all CPUs. For the same
// reason, all headers are included before the region, and the region contains only functions
// defined in this file.
#include <stdint.h>

#include "weft/ops/kernels/gemm/bf16_split/panel.h"
#include "weft/ops/kernels/gemm/bf16_split/unit.h"

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("amx-tile,amx-bf16,avx512f,avx512bw")
#endif

#include "weft/ops/kernels/gemm/bf16_split/amx-inl.h"

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
  template <int t>
  void zero() {
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(t));
  }
  template <int t>
  void load(const void* tile) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2"
                     :
                     : "r"(tile), "r"(int64_t{64}), "i"(t)
                     : "memory");
  }
  template <int c, int a, int b>
  void multiply() {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(c), "i"(a), "i"(b));
  }
  template <int t>
  void store(float* c, int64_t stride, bool add) {
    alignas(64) float sums[kTileSide * kTileSide];
    float* const to = add ? sums : c;
    const int64_t bytes = (add ? kTileSide : stride) * int64_t{sizeof(float)};
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(bytes), "i"(t) : "memory");
    if (!add) return;
    for (int64_t i = 0; i < kTileSide; ++i) {
      float* const row = c + i * stride;
      const __m512 sum = _mm512_load_ps(sums + i * kTileSide);
      _mm512_storeu_ps(row, _mm512_add_ps(_mm512_loadu_ps(row), sum));
    }
  }
};

template <int kTerms, int kBTerms>
void amx_panel_gemm(const std::byte* a, const std::byte* b, int64_t slices, int64_t row_tiles,
                    int64_t column_tiles, float* c, int64_t c_stride, bool add,
                    const std::byte* /*next*/) {
  AmxTiles tiles;
  tile_gemm<AmxTiles, kTerms, kBTerms>(tiles, a, b, slices, row_tiles, column_tiles, c, c_stride,
                                       add);
}

void configure_tiles() {
  TileConfig config = {};
  config.palette = 1;
  for (int t = 0; t < 8; ++t) {
    config.row_bytes[t] = 64;
    config.rows[t] = 16;
  }
  // The clobber forces the whole configuration to be written to memory. The intrinsic in g++ 12 has
  // no such clobber.
  __asm__ volatile("ldtilecfg (%0)" : : "r"(&config) : "memory");
}

void release_tiles() { __asm__ volatile("tilerelease"); }

constexpr Bf16UnitKernels kKernels = {
    {amx_panel_gemm<1, 1>, amx_panel_gemm<2, 2>, amx_panel_gemm<3, 3>},
    {amx_panel_gemm<1, 1>, amx_panel_gemm<2, 1>, amx_panel_gemm<3, 1>},
    configure_tiles,
    release_tiles,
};

}  // namespace
}  // namespace weft::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace weft::kernels {
const Bf16UnitKernels& amx_kernels() { return kKernels; }
}  // namespace weft::kernels

#else

namespace weft::kernels {
const Bf16UnitKernels& amx_kernels() {
  static const Bf16UnitKernels none;
  return none;
}
}  // namespace weft::kernels

#endif

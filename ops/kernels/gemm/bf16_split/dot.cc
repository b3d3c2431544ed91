// Products of panels with one term, computed with VDPBF16PS (AVX512_BF16). The code is in a target
// region for the same reasons as in amx.cc.
#include <stdint.h>

#include "weft/ops/kernels/gemm/bf16_split/panel.h"
#include "weft/ops/kernels/gemm/bf16_split/unit.h"

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push( \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16,prfchw"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512bf16,prfchw")
#endif

#include "weft/ops/kernels/gemm/bf16_split/dot-inl.h"

namespace weft::kernels {
namespace {

struct VectorUnit {
  using Sums = __m512;
  using Pairs = __m512bh;
  static Sums zero() { return _mm512_setzero_ps(); }
  using Smallest = __m512i;
  static Pairs load(const void* pairs) { return (Pairs)_mm512_loadu_si512(pairs); }
  static Pairs load_part(const void* pairs, int64_t entries) {
    return (Pairs)_mm512_maskz_loadu_epi16((1u << entries) - 1, pairs);
  }
  static void dot(Sums& sums, const Pairs& a, const Pairs& b) {
    sums = _mm512_dpbf16_ps(sums, a, b);
  }
  // Adds the upper half of the lanes to the lower half until one lane is left. The halves are read
  // from memory, because g++ 12 warns about intrinsics that extract them.
  static void totals(const Sums* sums, float* to) {
    __m128 t[4];
    for (int s = 0; s < 4; ++s) {
      float lanes[16];
      _mm512_storeu_ps(lanes, sums[s]);
      const __m256 half = _mm256_add_ps(_mm256_loadu_ps(lanes), _mm256_loadu_ps(lanes + 8));
      t[s] = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    }
    _MM_TRANSPOSE4_PS(t[0], t[1], t[2], t[3]);
    _mm_storeu_ps(to, _mm_add_ps(_mm_add_ps(t[0], t[2]), _mm_add_ps(t[1], t[3])));
  }
  static Smallest none() { return _mm512_set1_epi16(-1); }
  // Twice the magnitude, minus one, so that zeros wrap around to the largest number.
  static void note(Smallest& smallest, const Pairs& pairs) {
    const __m512i bits = (__m512i)pairs;
    smallest = _mm512_min_epu16(
        smallest, _mm512_add_epi16(_mm512_add_epi16(bits, bits), _mm512_set1_epi16(-1)));
  }
  static uint32_t bits(const Smallest& smallest) {
    uint16_t lanes[32], least = 0xFFFF;
    _mm512_storeu_si512(lanes, smallest);
    for (const uint16_t lane : lanes) least = lane < least ? lane : least;
    return least == 0xFFFF ? ~0u : (least + 1u) / 2 << 16;
  }
  static void dot(Sums& sums, uint32_t pair, const Pairs& pairs) {
    sums = _mm512_dpbf16_ps(sums, (Pairs)_mm512_set1_epi32(static_cast<int>(pair)), pairs);
  }
  static void store(const Sums& sums, float* c, bool add) {
    _mm512_storeu_ps(c, add ? _mm512_add_ps(_mm512_loadu_ps(c), sums) : sums);
  }
};

void dot_panel_gemm(const std::byte* a, const std::byte* b, int64_t slices, int64_t row_tiles,
                    int64_t column_tiles, float* c, int64_t c_stride, bool add,
                    const std::byte* next) {
  dot_gemm<VectorUnit>(a, b, slices, row_tiles, column_tiles, c, c_stride, add, next);
}

uint32_t dot_unpacked(const std::byte* a, int64_t rows, const std::byte* b, int64_t b_stride,
                      int64_t columns, int64_t depth, int64_t ahead, float* dots) {
  return dot_columns<VectorUnit>(a, rows, b, b_stride, columns, depth, ahead, dots);
}

void round_unpacked(const float* row, int64_t depth, std::byte* to, int64_t stride,
                    uint32_t* largest, uint32_t* smallest) {
  round_row(row, depth, to, stride, largest, smallest);
}

constexpr Bf16UnitKernels kKernels = {{dot_panel_gemm}, {dot_panel_gemm}, nullptr,
                                      nullptr,          dot_unpacked,     round_unpacked};

}  // namespace
}  // namespace weft::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace weft::kernels {
const Bf16UnitKernels& dot_kernels() { return kKernels; }
}  // namespace weft::kernels

#else

namespace weft::kernels {
const Bf16UnitKernels& dot_kernels() {
  static const Bf16UnitKernels none;
  return none;
}
}  // namespace weft::kernels

#endif

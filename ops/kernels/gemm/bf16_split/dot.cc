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
  static Pairs load(const uint32_t* pairs) { return (Pairs)_mm512_load_si512(pairs); }
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

constexpr Bf16UnitKernels kKernels = {{dot_panel_gemm}, {dot_panel_gemm}, nullptr, nullptr};

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

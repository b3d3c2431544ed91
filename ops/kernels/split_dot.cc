// Products of panels of one term by VDPBF16PS of AVX512_BF16. In a target region of its own, as
// amx_product.cc, and for the same reasons.
#include <stdint.h>

#include "weft/ops/kernels/split_panel.h"
#include "weft/ops/kernels/split_unit.h"

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512bf16")
#endif

#include "weft/ops/kernels/dot_product-inl.h"

namespace weft::kernels {
namespace {

struct VectorSums {
  __m512 rows[kTileSide];

  void zero() {
#pragma GCC unroll 16
    for (int i = 0; i < kTileSide; ++i) rows[i] = _mm512_setzero_ps();
  }
  void add(const uint32_t* a, const uint32_t* b) {
    const __m512bh columns = (__m512bh)_mm512_load_si512(b);
#pragma GCC unroll 16
    for (int i = 0; i < kTileSide; ++i) {
      const __m512bh pair = (__m512bh)_mm512_set1_epi32(static_cast<int>(a[kTileSide * i]));
      rows[i] = _mm512_dpbf16_ps(rows[i], pair, columns);
    }
  }
  void store(float* c, int64_t stride) {
#pragma GCC unroll 16
    for (int i = 0; i < kTileSide; ++i) _mm512_storeu_ps(c + i * stride, rows[i]);
  }
};

void dot_panel_product(const std::byte* a, const std::byte* b, int64_t slices, int64_t row_tiles,
                       int64_t column_tiles, float* c, int64_t c_stride) {
  dot_product<VectorSums>(a, b, slices, row_tiles, column_tiles, c, c_stride);
}

constexpr Bf16UnitKernels kKernels = {{dot_panel_product, nullptr, nullptr}, nullptr, nullptr};

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

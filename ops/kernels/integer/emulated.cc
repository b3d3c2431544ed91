// The kernels for AVX-VNNI and AMX-INT8 with emulated instructions, so that tests run on every CPU
// with AVX2.
// See vnni.cc for the target region.
#include <stdint.h>
#include <string.h>

#include "weft/ops/kernels/integer/integer_product.h"

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,f16c")
#endif

#include "weft/ops/kernels/integer/dot-inl.h"
// amx-inl.h uses the rows of dot-inl.h.
#include "weft/ops/kernels/integer/amx-inl.h"
#include "weft/ops/kernels/integer/ymm-inl.h"

namespace weft::kernels {
namespace {

struct EmulatedDpbusd {
  // Products of bytes 0 and 2 and of bytes 1 and 3 of every lane, as 16-bit pairs.
  static __m256i dot(__m256i sum, __m256i weights, __m256i levels) {
    const __m256i even = _mm256_madd_epi16(_mm256_and_si256(weights, _mm256_set1_epi16(0xFF)),
                                           _mm256_srai_epi16(_mm256_slli_epi16(levels, 8), 8));
    const __m256i odd =
        _mm256_madd_epi16(_mm256_srli_epi16(weights, 8), _mm256_srai_epi16(levels, 8));
    return _mm256_add_epi32(sum, _mm256_add_epi32(even, odd));
  }
};
using Unit = Ymm<EmulatedDpbusd>;
constexpr IntegerKernels kKernels = {dot_row_bytes, dot_prepare<Unit>, dot_product<Unit>,
                                     dot_chains<Unit>};

// Tiles in memory. Operands are not copied, because they do not change while they are multiplied.
struct EmulatedTiles {
  int32_t sums[4][kTile * kTile];
  const int8_t* operands[8];
  int64_t strides[8];

  template <int t>
  void zero() {
    memset(sums[t], 0, sizeof(sums[t]));
  }
  template <int t>
  void load(const void* from, int64_t row_bytes) {
    operands[t] = static_cast<const int8_t*>(from);
    strides[t] = row_bytes;
  }
  template <int c, int a, int b>
  void multiply() {
    for (int64_t i = 0; i < kTile; ++i) {
      for (int64_t j = 0; j < kTile; ++j) {
        for (int64_t k = 0; k < kTileInputs; ++k) {
          sums[c][i * kTile + j] +=
              operands[a][i * strides[a] + k] * operands[b][k / 4 * strides[b] + 4 * j + k % 4];
        }
      }
    }
  }
  template <int t>
  void store(int32_t* to, int64_t row_bytes) {
    for (int64_t i = 0; i < kTile; ++i)
      memcpy(to + i * (row_bytes / 4), sums[t] + i * kTile, kTile * sizeof(int32_t));
  }
};

void emulated_amx_product(const QuantizedWeights& w, const std::byte* prepared, const float* steps,
                          int64_t rows, int64_t begin, int64_t end, float* y, int64_t stride) {
  if (is_grouped(w) || rows < kTile) {
    dot_product<Unit>(w, prepared, steps, rows, begin, end, y, stride);
    return;
  }
  EmulatedTiles tiles;
  amx_int8(tiles, w, prepared, steps, rows, begin, end, y, stride);
}
constexpr IntegerKernels kAmxKernels = {dot_row_bytes, dot_prepare<Unit>, emulated_amx_product,
                                        dot_chains<Unit>};

}  // namespace
}  // namespace weft::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace weft::kernels {
const IntegerKernels& emulated_avx_vnni_kernels() { return kKernels; }
const IntegerKernels& emulated_amx_int8_kernels() { return kAmxKernels; }
}  // namespace weft::kernels

#else

namespace weft::kernels {
const IntegerKernels& emulated_avx_vnni_kernels() { return madd_kernels(); }
const IntegerKernels& emulated_amx_int8_kernels() { return madd_kernels(); }
}  // namespace weft::kernels

#endif

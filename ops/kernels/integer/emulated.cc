// The kernel for AVX-VNNI with an emulated instruction, so that tests run on every CPU with AVX2.
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
constexpr IntegerKernels kKernels = {dot_row_bytes, dot_prepare<Unit>, dot_product<Unit>};

}  // namespace
}  // namespace weft::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace weft::kernels {
const IntegerKernels& emulated_avx_vnni_kernels() { return kKernels; }
}  // namespace weft::kernels

#else

namespace weft::kernels {
const IntegerKernels& emulated_avx_vnni_kernels() { return madd_kernels(); }
}  // namespace weft::kernels

#endif

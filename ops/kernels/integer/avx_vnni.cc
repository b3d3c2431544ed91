// VPDPBUSD on 256-bit vectors. See vnni.cc for the target region.
#include <stdint.h>
#include <string.h>

#include "weft/ops/kernels/integer/integer_product.h"

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,avxvnni,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,avxvnni,f16c")
#endif

#include "weft/ops/kernels/integer/dot-inl.h"
#include "weft/ops/kernels/integer/ymm-inl.h"

namespace weft::kernels {
namespace {

struct Dpbusd {
  static __m256i dot(__m256i sum, __m256i weights, __m256i levels) {
    return _mm256_dpbusd_avx_epi32(sum, weights, levels);
  }
};
using Unit = Ymm<Dpbusd>;
constexpr IntegerKernels kKernels = {dot_row_bytes, dot_prepare<Unit>, dot_product<Unit>,
                                     dot_chains<Unit>};

}  // namespace
}  // namespace weft::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace weft::kernels {
const IntegerKernels& avx_vnni_kernels() { return kKernels; }
}  // namespace weft::kernels

#else

namespace weft::kernels {
const IntegerKernels& avx_vnni_kernels() { return madd_kernels(); }
}  // namespace weft::kernels

#endif

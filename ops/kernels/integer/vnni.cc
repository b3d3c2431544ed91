// VPDPBUSD on 512-bit vectors. The CPU is selected by a target region instead of compiler flags for
// the file, so that no inline function of a library is compiled for this CPU and then linked into
// code for all CPUs. For the same reason, all headers are included before the region.
#include <stdint.h>
#include <string.h>

#include "weft/ops/kernels/integer/integer_product.h"

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 warns about the "undefined" operand in its own intrinsics (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni,f16c"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512vnni,f16c")
#endif

#include "weft/ops/kernels/integer/dot-inl.h"

namespace weft::kernels {
namespace {

struct Vnni {
  using Integers = __m512i;
  using Floats = __m512;
  static constexpr int kLanes = 16;
  // The sums of a block, the weights of a step and a word of levels fit into 32 registers.
  static constexpr int kRows = 6, kPanels = 4, kGroupedRows = 6, kGroupedPanels = 2;

  static Integers load(const char* at) { return _mm512_loadu_si512(at); }
  static void prefetch(const char* at) { _mm_prefetch(at, _MM_HINT_T0); }
  static Integers set(int32_t word) { return _mm512_set1_epi32(word); }
  static Integers from_signed(Integers bytes) {
    return _mm512_xor_si512(bytes, _mm512_set1_epi8(-128));
  }
  static Integers low_halves(Integers bytes) {
    return _mm512_ternarylogic_epi32(bytes, _mm512_set1_epi8(0x0F), _mm512_set1_epi8(0x08),
                                     kAndXor);
  }
  static Integers high_halves(Integers bytes) { return low_halves(_mm512_srli_epi32(bytes, 4)); }
  static Integers dot(Integers sum, Integers weights, Integers levels) {
    return _mm512_dpbusd_epi32(sum, weights, levels);
  }
  static Integers add_integers(Integers a, Integers b) { return _mm512_add_epi32(a, b); }
  static Floats to_float(Integers sums) { return _mm512_cvtepi32_ps(sums); }
  static Floats as_float(Integers bits) { return _mm512_castsi512_ps(bits); }
  static Floats set_float(float x) { return _mm512_set1_ps(x); }
  static Floats load_floats(const float* at) { return _mm512_loadu_ps(at); }
  static Floats load_halves(const uint16_t* at) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
  }
  static Floats mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
  static Floats plus(Floats a, Floats b) { return _mm512_add_ps(a, b); }
  static void store_floats(Floats v, float* at) { _mm512_storeu_ps(at, v); }

  /// Writes the eight words of a group of 32 levels and returns the sum of the levels.
  static int32_t prepare_group(const int8_t* from, bool int4, int32_t* to) {
    __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    if (int4) {
      // The low halves of four bytes are inputs 0, 2, 4 and 6; the high halves are inputs 1, 3, 5
      // and 7.
      const __m256i order = _mm256_broadcastsi128_si256(
          _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15));
      bytes = _mm256_shuffle_epi8(bytes, order);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
    const __m256i sums = _mm256_dpbusd_epi32(_mm256_setzero_si256(), _mm256_set1_epi8(1), bytes);
    const __m128i four =
        _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xB1)));
  }

 private:
  static constexpr int kAndXor = 0x6A;  // (a & b) ^ c
};

constexpr IntegerKernels kKernels = {dot_row_bytes, dot_prepare<Vnni>, dot_product<Vnni>,
                                     dot_chains<Vnni>};

}  // namespace
}  // namespace weft::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace weft::kernels {
const IntegerKernels& vnni_kernels() { return kKernels; }
}  // namespace weft::kernels

#else

namespace weft::kernels {
const IntegerKernels& vnni_kernels() { return madd_kernels(); }
}  // namespace weft::kernels

#endif

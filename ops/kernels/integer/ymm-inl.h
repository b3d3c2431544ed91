// 256-bit vectors for dot-inl.h. `Dot` supplies the instruction: static __m256i dot(__m256i sum,
// __m256i weights, __m256i levels). Included in a region that is compiled for AVX2 and F16C.
#pragma once

namespace weft::kernels {
namespace {

template <class Dot>
struct Ymm : Dot {
  using Integers = __m256i;
  using Floats = __m256;
  static constexpr int kLanes = 8;
  // The sums of a block, the weights of a step and a word of levels fit into 16 registers.
  static constexpr int kRows = 4, kPanels = 1, kGroupedRows = 3, kGroupedPanels = 1;

  static Integers load(const char* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  }
  static void prefetch(const char* at) { _mm_prefetch(at, _MM_HINT_T0); }
  static Integers set(int32_t word) { return _mm256_set1_epi32(word); }
  static Integers from_signed(Integers bytes) {
    return _mm256_xor_si256(bytes, _mm256_set1_epi8(-128));
  }
  static Integers low_halves(Integers bytes) {
    return _mm256_xor_si256(_mm256_and_si256(bytes, _mm256_set1_epi8(0x0F)),
                            _mm256_set1_epi8(0x08));
  }
  static Integers high_halves(Integers bytes) { return low_halves(_mm256_srli_epi32(bytes, 4)); }
  static Integers add_integers(Integers a, Integers b) { return _mm256_add_epi32(a, b); }
  static Floats to_float(Integers sums) { return _mm256_cvtepi32_ps(sums); }
  static Floats as_float(Integers bits) { return _mm256_castsi256_ps(bits); }
  static Floats set_float(float x) { return _mm256_set1_ps(x); }
  static Floats load_floats(const float* at) { return _mm256_loadu_ps(at); }
  static Floats load_halves(const uint16_t* at) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
  static Floats mul(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
  static Floats plus(Floats a, Floats b) { return _mm256_add_ps(a, b); }
  static void store_floats(Floats v, float* at) { _mm256_storeu_ps(at, v); }

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
    const __m256i sums = Dot::dot(_mm256_setzero_si256(), _mm256_set1_epi8(1), bytes);
    const __m128i four =
        _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xB1)));
  }
};

}  // namespace
}  // namespace weft::kernels

// Transposition of squares of vectors in registers. Included once per SIMD target.
#if defined(WEFT_OPS_KERNELS_GEMM_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_OPS_KERNELS_GEMM_TRANSPOSE_INL_H_
#undef WEFT_OPS_KERNELS_GEMM_TRANSPOSE_INL_H_
#else
#define WEFT_OPS_KERNELS_GEMM_TRANSPOSE_INL_H_
#endif

#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
template <class D>
HWY_INLINE void transpose(D /*d*/, hn::Vec<D>* /*v*/) {}
#else

/// Transposes squares of 32-bit or 64-bit elements within each 128-bit block of the vectors.
HWY_INLINE void transpose_in_blocks(Full<float> d, hn::Vec<Full<float>>* v) {
  const hn::RepartitionToWide<Full<float>> pairs;
  constexpr int lanes = static_cast<int>(hn::MaxLanes(Full<float>()));
#pragma GCC unroll 4
  for (int g = 0; g < lanes; g += 4) {
    const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, v[g], v[g + 1]));
    const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, v[g], v[g + 1]));
    const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, v[g + 2], v[g + 3]));
    const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, v[g + 2], v[g + 3]));
    v[g] = hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23));
    v[g + 1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23));
    v[g + 2] = hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23));
    v[g + 3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23));
  }
}
HWY_INLINE void transpose_in_blocks(Full<double> d, hn::Vec<Full<double>>* v) {
  constexpr int lanes = static_cast<int>(hn::MaxLanes(Full<double>()));
#pragma GCC unroll 4
  for (int g = 0; g < lanes; g += 2) {
    const auto low = hn::InterleaveLower(d, v[g], v[g + 1]);
    v[g + 1] = hn::InterleaveUpper(d, v[g], v[g + 1]);
    v[g] = low;
  }
}

#if HWY_TARGET == HWY_AVX3
template <int kSelect>
HWY_INLINE hn::Vec<Full<float>> shuffle_blocks(hn::Vec<Full<float>> a, hn::Vec<Full<float>> b) {
  return hn::Vec<Full<float>>{_mm512_shuffle_f32x4(a.raw, b.raw, kSelect)};
}
template <int kSelect>
HWY_INLINE hn::Vec<Full<double>> shuffle_blocks(hn::Vec<Full<double>> a, hn::Vec<Full<double>> b) {
  return hn::Vec<Full<double>>{_mm512_shuffle_f64x2(a.raw, b.raw, kSelect)};
}
#endif

/// Transposes a square matrix: one vector per row, as many rows as lanes.
template <class D>
HWY_INLINE void transpose(D d, hn::Vec<D>* v) {
  constexpr int lanes = static_cast<int>(hn::MaxLanes(D()));
  constexpr int block = static_cast<int>(16 / sizeof(hn::TFromD<D>)), blocks = lanes / block;
  transpose_in_blocks(d, v);
#pragma GCC unroll 4
  for (int i = 0; i < block; ++i) {
    if constexpr (blocks == 2) {
      const auto upper = hn::ConcatUpperUpper(d, v[block + i], v[i]);
      v[i] = hn::ConcatLowerLower(d, v[block + i], v[i]);
      v[block + i] = upper;
    }
#if HWY_TARGET == HWY_AVX3
    if constexpr (blocks == 4) {
      constexpr int kEven = 0x88, kOdd = 0xDD;
      const auto even01 = shuffle_blocks<kEven>(v[i], v[block + i]);
      const auto odd01 = shuffle_blocks<kOdd>(v[i], v[block + i]);
      const auto even23 = shuffle_blocks<kEven>(v[2 * block + i], v[3 * block + i]);
      const auto odd23 = shuffle_blocks<kOdd>(v[2 * block + i], v[3 * block + i]);
      v[i] = shuffle_blocks<kEven>(even01, even23);
      v[block + i] = shuffle_blocks<kEven>(odd01, odd23);
      v[2 * block + i] = shuffle_blocks<kOdd>(even01, even23);
      v[3 * block + i] = shuffle_blocks<kOdd>(odd01, odd23);
    }
#endif
  }
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard

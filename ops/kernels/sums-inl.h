// Sums over the lanes of several vectors at a time. Included once per SIMD target.
#if defined(WEFT_OPS_KERNELS_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_OPS_KERNELS_SUMS_INL_H_
#undef WEFT_OPS_KERNELS_SUMS_INL_H_
#else
#define WEFT_OPS_KERNELS_SUMS_INL_H_
#endif

#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
/// Returns the sum of the 128-bit blocks of v.
template <class D>
HWY_INLINE hn::Vec<hn::FixedTag<float, 4>> sum_blocks(D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) > 4) {
    const hn::Half<D> half;
    return sum_blocks(half, hn::Add(hn::UpperHalf(half, v), hn::LowerHalf(half, v)));
  } else {
    (void)d;
    return v;
  }
}

/// Stores the lane sums of a, b, c and e in scores[0..4), using a single reduction tree for all
/// four vectors.
HWY_INLINE void store_sums(hn::Vec<Full<float>> a, hn::Vec<Full<float>> b, hn::Vec<Full<float>> c,
                           hn::Vec<Full<float>> e, float* scores) {
  const Full<float> d;
  const hn::RepartitionToWide<Full<float>> pairs;
  const auto ab =
      hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  const auto ce =
      hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e)));
  const auto all = hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, ab, ce)),
                           hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ce)));
  hn::StoreU(sum_blocks(d, all), hn::FixedTag<float, 4>(), scores);
}
#endif

/// Sets sums[i] to the sum of the lanes of v[i]. Up to three more elements are written.
template <int kCount, class D, class T>
HWY_INLINE void sum_all(D d, const hn::Vec<D>* v, T* sums) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == sizeof(float)) {
#pragma GCC unroll 8
    for (int i = 0; i < kCount; i += 4) {
      store_sums(v[i], v[HWY_MIN(i + 1, kCount - 1)], v[HWY_MIN(i + 2, kCount - 1)],
                 v[HWY_MIN(i + 3, kCount - 1)], sums + i);
    }
    return;
  }
#endif
  for (int i = 0; i < kCount; ++i) sums[i] = sum_lanes(d, v[i]);
}

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard

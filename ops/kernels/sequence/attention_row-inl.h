// Attention for a single query, as in decoding one token. The kernels compute products with
// matrices that are read once, so their speed is limited by memory bandwidth. Included once per
// SIMD target.
#if defined(WEFT_OPS_KERNELS_ATTENTION_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_OPS_KERNELS_ATTENTION_ROW_INL_H_
#undef WEFT_OPS_KERNELS_ATTENTION_ROW_INL_H_
#else
#define WEFT_OPS_KERNELS_ATTENTION_ROW_INL_H_
#endif

#include "weft/ops/kernels/gemm/pack-inl.h"
#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {

// Keys and values have type S, which is either T or bfloat16. All bfloat16 values are representable
// in T.

/// Like load_widened(), but reads only the first `count` elements and sets the other lanes to 0.
template <class D>
HWY_INLINE hn::Vec<D> load_widened_part(D d, const hn::TFromD<D>* from, size_t count) {
  return load_part(d, from, count);
}
template <class D, class S>
requires(sizeof(S) == 2) HWY_INLINE hn::Vec<D> load_widened_part(D d, const S* from, size_t count) {
  HWY_ALIGN hn::TFromD<D> buffer[hn::MaxLanes(d)] = {};
  for (size_t i = 0; i < count; ++i) buffer[i] = widened(from[i]);
  return hn::Load(d, buffer);
}

/// Returns the dot product of q and one key with `size` elements, as a vector with one partial sum
/// per lane.
template <class T, class S>
HWY_INLINE hn::Vec<Full<T>> key_product(const T* q, const S* key, int64_t size) {
  const Full<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sum = hn::Zero(d);
  int64_t x = 0;
  for (; x + lanes <= size; x += lanes)
    sum = hn::MulAdd(hn::LoadU(d, q + x), load_widened(d, key + x), sum);
  if (x < size) {
    const size_t rest = static_cast<size_t>(size - x);
    sum = hn::MulAdd(load_part(d, q + x, rest), load_widened_part(d, key + x, rest), sum);
  }
  return sum;
}

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

/// Prefetches `count` consecutive elements.
template <class T>
HWY_INLINE void fetch(const T* data, int64_t count) {
  constexpr int64_t kLine = static_cast<int64_t>(64 / sizeof(T));
  for (int64_t x = 0; x < count; x += kLine) __builtin_prefetch(data + x, 0, 2);
}

/// Sets scores[j] to the dot product of q and key j for all `count` keys, which have `size`
/// contiguous elements each. Also prefetches the rows of `values` (`width` elements each), which
/// are needed next, because reading two streams from memory concurrently is faster than reading one
/// after the other.
template <class T, class S>
HWY_INLINE void single_query_scores(const T* q, const S* keys, int64_t count, int64_t size,
                                    const S* values, int64_t width, T* scores) {
  int64_t j = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == sizeof(float)) {
    for (; j + 4 <= count; j += 4) {
      const S* k = keys + j * size;
      fetch(values + j * width, 4 * width);
      store_sums(key_product(q, k, size), key_product(q, k + size, size),
                 key_product(q, k + 2 * size, size), key_product(q, k + 3 * size, size),
                 scores + j);
    }
  }
#endif
  for (; j < count; ++j) scores[j] = sum_lanes(Full<T>(), key_product(q, keys + j * size, size));
}

/// Computes out[x] = sum over j of p[j] * values[j][x], in order of j, for kVectors vectors of
/// columns.
template <int kVectors, class T, class S>
HWY_INLINE void value_columns(const T* p, const S* values, int64_t count, int64_t size, T* out) {
  const Full<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<Full<T>> sum[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) sum[v] = hn::Zero(d);
  for (int64_t j = 0; j < count; ++j) {
    const auto weight = hn::Set(d, p[j]);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      sum[v] = hn::MulAdd(weight, load_widened(d, values + j * size + v * lanes), sum[v]);
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, out + v * lanes);
}

/// Computes out[x] = sum over j of p[j] * values[j][x], in order of j, for x in [0, size).
template <class T, class S>
HWY_INLINE void single_query_values(const T* p, const S* values, int64_t count, int64_t size,
                                    T* out) {
  const Full<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t x = 0;
  for (; x + 8 * lanes <= size; x += 8 * lanes)
    value_columns<8>(p, values + x, count, size, out + x);
  for (; x + 4 * lanes <= size; x += 4 * lanes)
    value_columns<4>(p, values + x, count, size, out + x);
  for (; x + lanes <= size; x += lanes) value_columns<1>(p, values + x, count, size, out + x);
  if (x == size) return;
  const size_t rest = static_cast<size_t>(size - x);
  auto sum = hn::Zero(d);
  for (int64_t j = 0; j < count; ++j)
    sum = hn::MulAdd(hn::Set(d, p[j]), load_widened_part(d, values + j * size + x, rest), sum);
  store_part(sum, d, out + x, rest);
}

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard

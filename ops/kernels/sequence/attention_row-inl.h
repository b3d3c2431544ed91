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
#include "weft/ops/kernels/quantized/int8_rows-inl.h"
#include "weft/ops/kernels/simd-inl.h"
#include "weft/ops/kernels/sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {

// Keys and values have type S, which is T, bfloat16 or int8. All bfloat16 values are representable
// in T. Rows of int8 end with a scale (quantized/int8_rows.h), which is applied to a score or a
// probability instead of every element.

/// The number of elements of S after the elements of a row.
template <class S>
inline constexpr int64_t kScaleElements = sizeof(S) == 1 ? kernels::kRowScaleBytes : 0;

template <class D>
HWY_INLINE hn::Vec<D> load_widened(D d, const int8_t* from) {
  return load_levels(d, from);
}

/// Returns the scale of a row of `size` elements.
template <class T, class S>
HWY_INLINE T scale_of_row(const S* row, int64_t size) {
  if constexpr (sizeof(S) == 1) {
    return static_cast<T>(int8_row_scale(row, size));
  } else {
    static_cast<void>(row), static_cast<void>(size);
    return T(1);
  }
}

/// Like load_widened(), but reads only the first `count` elements and sets the other lanes to 0.
template <class D>
HWY_INLINE hn::Vec<D> load_widened_part(D d, const hn::TFromD<D>* from, size_t count) {
  return load_part(d, from, count);
}
template <class D, class S>
requires(sizeof(S) <= 2) HWY_INLINE hn::Vec<D> load_widened_part(D d, const S* from, size_t count) {
  HWY_ALIGN hn::TFromD<D> buffer[hn::MaxLanes(d)] = {};
  for (size_t i = 0; i < count; ++i) {
    if constexpr (sizeof(S) == 1) {
      buffer[i] = from[i];
    } else {
      buffer[i] = widened(from[i]);
    }
  }
  return hn::Load(d, buffer);
}

/// Returns the dot product of q and one key with `size` elements, before its scale, as a vector
/// with one partial sum per lane.
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

/// Returns the sum of the lanes of v, with the bits of store_sums() for float.
template <class D>
HWY_INLINE hn::TFromD<D> score_of(D d, hn::Vec<D> v) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(float)) {
    HWY_ALIGN float sums[4];
    store_sums(v, v, v, v, sums);
    return sums[0];
  }
#endif
  return sum_lanes(d, v);
}

/// Prefetches `count` consecutive elements into the L2 cache.
template <class T>
HWY_INLINE void fetch(const T* data, int64_t count) {
  constexpr int64_t kLine = static_cast<int64_t>(64 / sizeof(T));
  for (int64_t x = 0; x < count; x += kLine) __builtin_prefetch(data + x, 0, 2);
}
/// The distance in bytes of the keys and values that are prefetched. Hardware prefetchers do not
/// keep up with kernels that read several rows in turn. With AMD Zen 4, distances from 8 to 16 KiB
/// are equally fast, and half of the bandwidth is reached without prefetching.
inline constexpr int64_t kFetchAhead = 8192;

/// The number of heads for which a key or value in registers is used at once.
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
inline constexpr int kSharedHeads = 4;
#else
inline constexpr int kSharedHeads = 2;
#endif

/// The rows that a kernel prefetches.
enum class Fetch { none, keys, values };

/// Returns the rows that are prefetched while the scores of `heads` heads are computed, given
/// values of `width` elements. With a single head, memory limits the speed, and reading two streams
/// is faster than reading one after the other. Four rows of more than 256 bytes would occupy all
/// miss buffers of the L1 cache.
template <class S>
HWY_INLINE Fetch fetched_by_scores(int64_t heads, int64_t width) {
  const bool values = heads == 1 && sizeof(S) > 1 && width * int64_t{sizeof(S)} <= 256;
  return values ? Fetch::values : Fetch::keys;
}

/// Sets scores[n * stride + j] to the dot product of query n of kHeads consecutive queries and key
/// j for all `count` keys, which have `size` contiguous elements each. Prefetches the keys `ahead`
/// elements after these, or the rows of `values` (`width` elements each), which are needed later.
template <int kHeads, class T, class S>
HWY_INLINE void head_scores(const T* q, const S* keys, int64_t count, int64_t size, const S* values,
                            int64_t width, Fetch fetched, int64_t ahead, T* scores,
                            int64_t stride) {
  const Full<T> d;
  const int64_t step = size + kScaleElements<S>;
  int64_t j = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == sizeof(float)) {
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; j + 4 <= count; j += 4) {
      const S* k = keys + j * step;
      if (fetched == Fetch::keys) fetch(k + ahead, 4 * step);
      if (fetched == Fetch::values) fetch(values + j * width, 4 * width);
      hn::Vec<Full<T>> sum[kHeads][4];
#pragma GCC unroll 16
      for (int n = 0; n < 4 * kHeads; ++n) sum[n / 4][n % 4] = hn::Zero(d);
      int64_t x = 0;
      for (; x + lanes <= size; x += lanes) {
        const auto k0 = load_widened(d, k + x), k1 = load_widened(d, k + step + x);
        const auto k2 = load_widened(d, k + 2 * step + x), k3 = load_widened(d, k + 3 * step + x);
#pragma GCC unroll 4
        for (int n = 0; n < kHeads; ++n) {
          const auto v = hn::LoadU(d, q + n * size + x);
          sum[n][0] = hn::MulAdd(v, k0, sum[n][0]);
          sum[n][1] = hn::MulAdd(v, k1, sum[n][1]);
          sum[n][2] = hn::MulAdd(v, k2, sum[n][2]);
          sum[n][3] = hn::MulAdd(v, k3, sum[n][3]);
        }
      }
      // All indices of `sum` are constants, so that it stays in registers.
      if (const size_t rest = static_cast<size_t>(size - x); rest > 0) {
#pragma GCC unroll 4
        for (int key = 0; key < 4; ++key) {
          const auto part = load_widened_part(d, k + key * step + x, rest);
#pragma GCC unroll 4
          for (int n = 0; n < kHeads; ++n)
            sum[n][key] = hn::MulAdd(load_part(d, q + n * size + x, rest), part, sum[n][key]);
        }
      }
#pragma GCC unroll 4
      for (int n = 0; n < kHeads; ++n)
        store_sums(sum[n][0], sum[n][1], sum[n][2], sum[n][3], scores + n * stride + j);
      if constexpr (sizeof(S) == 1) {
        const hn::FixedTag<T, 4> four;
        HWY_ALIGN T scales[4];
        for (int key = 0; key < 4; ++key) scales[key] = scale_of_row<T>(k + key * step, size);
        for (int n = 0; n < kHeads; ++n) {
          T* to = scores + n * stride + j;
          hn::StoreU(hn::Mul(hn::LoadU(four, to), hn::Load(four, scales)), four, to);
        }
      }
    }
  }
#endif
  for (; j < count; ++j) {
    const S* k = keys + j * step;
    for (int n = 0; n < kHeads; ++n) {
      const T product = score_of(d, key_product(q + n * size, k, size));
      scores[n * stride + j] = sizeof(S) == 1 ? product * scale_of_row<T>(k, size) : product;
    }
  }
}

/// Calls head_scores() for `heads` consecutive queries, for several of them at once if possible.
template <class T, class S>
HWY_INLINE void single_query_scores(const T* q, int64_t heads, const S* keys, int64_t count,
                                    int64_t size, const S* values, int64_t width, int64_t ahead,
                                    T* scores, int64_t stride) {
  for (int64_t x = 0; x < heads;) {
    const T* own = q + x * size;
    T* to = scores + x * stride;
    const Fetch fetched = x == 0 ? fetched_by_scores<S>(heads, width) : Fetch::none;
    if (x + kSharedHeads <= heads) {
      head_scores<kSharedHeads>(own, keys, count, size, values, width, fetched, ahead, to, stride);
      x += kSharedHeads;
    } else if (x + 2 <= heads) {
      head_scores<2>(own, keys, count, size, values, width, fetched, ahead, to, stride);
      x += 2;
    } else {
      head_scores<1>(own, keys, count, size, values, width, fetched, ahead, to, stride);
      x += 1;
    }
  }
}

/// Returns the factor of the elements of a row of values.
template <class T, class S>
HWY_INLINE T scaled_probability(T p, const S* row, int64_t size) {
  return sizeof(S) == 1 ? p * scale_of_row<T>(row, size) : p;
}

/// Computes out[n][x] = sum over j of p[n * stride + j] * values[j][x], in order of j, for kHeads
/// consecutive rows n of `size` elements and kVectors vectors of columns from x. If `accumulate` is
/// true, adds to out. Prefetches the values `ahead` elements after these, if it is not 0.
template <int kHeads, int kVectors, class T, class S>
HWY_INLINE void value_columns(const T* p, int64_t stride, const S* values, int64_t count,
                              int64_t size, int64_t x, int64_t ahead, T* out, bool accumulate) {
  const Full<T> d;
  const int64_t step = size + kScaleElements<S>;
  out += x;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<Full<T>> sum[kHeads][kVectors];
#pragma GCC unroll 4
  for (int n = 0; n < kHeads; ++n) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      sum[n][v] = accumulate ? hn::LoadU(d, out + n * size + v * lanes) : hn::Zero(d);
  }
  for (int64_t j = 0; j < count; ++j) {
    const S* row = values + j * step;
    if (ahead != 0) fetch(row + ahead, step);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const auto value = load_widened(d, row + x + v * lanes);
#pragma GCC unroll 4
      for (int n = 0; n < kHeads; ++n) {
        const auto factor = hn::Set(d, scaled_probability(p[n * stride + j], row, size));
        sum[n][v] = hn::MulAdd(factor, value, sum[n][v]);
      }
    }
  }
#pragma GCC unroll 4
  for (int n = 0; n < kHeads; ++n) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[n][v], d, out + n * size + v * lanes);
  }
}

/// Calls value_columns() for all columns.
template <int kHeads, class T, class S>
HWY_INLINE void head_values(const T* p, int64_t stride, const S* values, int64_t count,
                            int64_t size, int64_t ahead, T* out, bool accumulate) {
  const Full<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int kWide = kHeads == 1 ? 8 : 4;
  int64_t x = 0;
  for (; x + kWide * lanes <= size; x += kWide * lanes)
    value_columns<kHeads, kWide>(p, stride, values, count, size, x, x == 0 ? ahead : 0, out,
                                 accumulate);
  for (; x + 4 * lanes <= size; x += 4 * lanes)
    value_columns<kHeads, 4>(p, stride, values, count, size, x, x == 0 ? ahead : 0, out,
                             accumulate);
  for (; x + lanes <= size; x += lanes)
    value_columns<kHeads, 1>(p, stride, values, count, size, x, x == 0 ? ahead : 0, out,
                             accumulate);
  if (x == size) return;
  const size_t rest = static_cast<size_t>(size - x);
  for (int n = 0; n < kHeads; ++n) {
    T* to = out + n * size + x;
    auto sum = accumulate ? load_part(d, to, rest) : hn::Zero(d);
    for (int64_t j = 0; j < count; ++j) {
      const S* row = values + j * (size + kScaleElements<S>);
      const auto value = load_widened_part(d, row + x, rest);
      sum = hn::MulAdd(hn::Set(d, scaled_probability(p[n * stride + j], row, size)), value, sum);
    }
    store_part(sum, d, to, rest);
  }
}

/// Calls head_values() for `heads` consecutive rows, for several of them at once if possible.
template <class T, class S>
HWY_INLINE void single_query_values(const T* p, int64_t stride, int64_t heads, const S* values,
                                    int64_t count, int64_t size, int64_t ahead, T* out,
                                    bool accumulate) {
  for (int64_t x = 0; x < heads;) {
    const T* own = p + x * stride;
    const int64_t distance = x == 0 && fetched_by_scores<S>(heads, size) == Fetch::keys ? ahead : 0;
    if (x + kSharedHeads <= heads) {
      head_values<kSharedHeads>(own, stride, values, count, size, distance, out + x * size,
                                accumulate);
      x += kSharedHeads;
    } else if (x + 2 <= heads) {
      head_values<2>(own, stride, values, count, size, distance, out + x * size, accumulate);
      x += 2;
    } else {
      head_values<1>(own, stride, values, count, size, distance, out + x * size, accumulate);
      x += 1;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard

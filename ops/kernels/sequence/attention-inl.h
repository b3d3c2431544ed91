// Attention scores of one tile, shared by the forward and backward kernels. Included once per SIMD
// target.
#if defined(WEFT_OPS_KERNELS_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_OPS_KERNELS_ATTENTION_INL_H_
#undef WEFT_OPS_KERNELS_ATTENTION_INL_H_
#else
#define WEFT_OPS_KERNELS_ATTENTION_INL_H_
#endif

#include "weft/ops/kernels/gemm/serial.h"
#include "weft/ops/kernels/math-inl.h"
#include "weft/ops/kernels/reductions/softmax_rows-inl.h"
#include "weft/ops/kernels/sequence/attention.h"
#include "weft/ops/kernels/sequence/attention_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {

template <class T>
HWY_INLINE void widen(const BFloat16* from, int64_t count, T* to) {
  const RowTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t x = 0;
  for (; x + lanes <= count; x += lanes) hn::StoreU(load_widened(d, from + x), d, to + x);
  for (; x < count; ++x) to[x] = static_cast<T>(widened(from[x]));
}

/// Widens the queries of `count` rows of q from row `first` to `wide`, and makes `a` refer to them.
template <class T>
HWY_INLINE void widen_queries(AttentionArgs<T>& a, int64_t first, int64_t count, T* wide) {
  widen(a.narrow_q + first * a.D, count * a.D, wide);
  a.narrow_queries = false;
  a.q = wide;
  a.first_query_row = first;
}

/// Replaces x[i] by cap * tanh(x[i] / cap), and sets slope[i] to the derivative unless it is null.
template <class T>
HWY_INLINE void row_soft_cap(T* x, int64_t n, T cap, T* slope) {
  const RowTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto bound = hn::Set(d, cap), one = hn::Set(d, T(1));
  for (int64_t i = 0; i < n; i += lanes) {
    const auto t = Tanh()(d, hn::Div(load_any(d, x + i, n - i, T(0)), bound));
    store_any(hn::Mul(bound, t), d, x + i, n - i);
    if (slope == nullptr) continue;
    store_any(hn::Mul(hn::Sub(one, t), hn::Add(one, t)), d, slope + i, n - i);
  }
}

/// Turns the products of query i and the keys [j0, j0 + cols) into scores, in place: see
/// attention_scores().
template <class T>
HWY_INLINE void attention_row(const AttentionArgs<T>& a, int64_t b, int64_t h, int64_t i,
                              int64_t j0, int64_t cols, T* row, T* slope) {
  row_scale(row, cols, a.scale, row);
  if (a.soft_cap > 0) {
    row_soft_cap(row, cols, a.soft_cap, slope);
  }
  if (a.bias != nullptr) {
    const ScoreStrides& t = a.bias_strides;
    const T* bias = a.bias + b * t.b + h * t.h + i * t.i + j0 * t.j;
    if (t.j == 1) {
      for (int64_t c = 0; c < cols; ++c) row[c] += bias[c];
    } else {
      for (int64_t c = 0; c < cols; ++c) row[c] += bias[0];
    }
  }
  if (a.offset_bias != nullptr) {
    const int64_t origin = a.offset_origin(b, i) + j0;
    const T* table = a.offset_bias + h * a.offset_count + origin;
    for (int64_t c = 0; c < cols; ++c) row[c] += table[c];
  }
  if (a.row_bias != nullptr) {
    const T* table = a.row_bias + a.query_row(b, h, i) * a.row_count;
    for (int64_t c = 0; c < cols; ++c) row[c] += table[a.row_index[i * a.Lk + j0 + c]];
  }
  if (a.col_bias != nullptr) {
    const T* table = a.col_bias + ((b * a.H + h) * a.Lk + j0) * a.col_count;
    for (int64_t c = 0; c < cols; ++c) {
      row[c] += table[c * a.col_count + a.col_index[i * a.Lk + j0 + c]];
    }
  }
  if (a.mask != nullptr) {
    const ScoreStrides& t = a.mask_strides;
    const bool* mask = a.mask + b * t.b + h * t.h + i * t.i + j0 * t.j;
    for (int64_t c = 0; c < cols; ++c) {
      if (!mask[c * t.j]) row[c] = negative_infinity<T>();
    }
  }
  const auto range = a.visible(b, i);
  for (int64_t c = 0; c < HWY_MIN(cols, range.begin - j0); ++c) row[c] = negative_infinity<T>();
  for (int64_t c = HWY_MAX(int64_t{0}, range.end - j0); c < cols; ++c) {
    row[c] = negative_infinity<T>();
  }
}

/// Returns the distance in elements from key j to the key (or value) of `size` elements of S that
/// should be prefetched: in the next rows of the same text, or 0 if they do not contain a key
/// before `end`.
template <class S, class T>
HWY_INLINE int64_t fetch_distance(const AttentionArgs<T>& a, int64_t b, int64_t h, int64_t j,
                                  int64_t end, int64_t size) {
  const int64_t row = size + kScaleElements<S>, bytes = row * int64_t{sizeof(S)};
  if (a.columns == 1) return kFetchAhead / int64_t{sizeof(S)};
  const int64_t rows = (kFetchAhead + a.row_keys * bytes - 1) / (a.row_keys * bytes);
  const int64_t next = j + HWY_MAX(int64_t{1}, rows) * a.row_keys;
  return next < end ? (a.key_row(b, h, next) - a.key_row(b, h, j)) * row : 0;
}

/// Sets s[r * stride + c] to the score of query i0 + r and key j0 + c, or to -inf if the key is not
/// visible. Keys may be narrow if `kNarrow` is true and there is a single query or batch_invariant
/// is set. With a soft cap, sets `slope`, which has the same layout, to its derivatives unless it
/// is null. With a single query, computes the scores of the `heads` heads from h, which share a key
/// head; head h + x has the scores s[x * stride + c]. Not inlined, because the code is large.
template <bool kNarrow, class T>
HWY_NOINLINE void attention_scores(const AttentionArgs<T>& a, int64_t b, int64_t h, int64_t heads,
                                   int64_t i0, int64_t rows, int64_t j0, int64_t cols, T* s,
                                   int64_t stride, std::byte* gemm_scratch, T* slope = nullptr) {
  const T* q = a.query(b, h, i0);
  const int64_t end = a.columns > 1 ? a.visible(b, i0 + rows - 1).end : 0;
  for (int64_t c = 0, part = 0; c < cols; c += part) {
    part = a.contiguous(j0 + c, cols - c);
    const int64_t key = a.key_row(b, h, j0 + c);
    if (kNarrow && a.packed) {
      single_query_scores(q, heads * rows, a.packed_k + key * (a.D + kScaleElements<int8_t>), part,
                          a.D, a.packed_v + key * (a.Dv + kScaleElements<int8_t>), a.Dv,
                          fetch_distance<int8_t>(a, b, h, j0 + c, end, a.D), s + c, stride);
    } else if (kNarrow && a.narrow) {
      single_query_scores(q, heads * rows, a.narrow_k + key * a.D, part, a.D,
                          a.narrow_v + key * a.Dv, a.Dv,
                          fetch_distance<BFloat16>(a, b, h, j0 + c, end, a.D), s + c, stride);
    } else if (a.batch_invariant || (rows == 1 && a.engine == nullptr)) {
      single_query_scores(q, heads * rows, a.k + key * a.D, part, a.D, a.v + key * a.Dv, a.Dv,
                          fetch_distance<T>(a, b, h, j0 + c, end, a.D), s + c, stride);
    } else {
      kernels::gemm({.m = rows,
                     .n = part,
                     .k = a.D,
                     .a = {q, a.D, 1},
                     .b = {a.k + key * a.D, 1, a.D},
                     .c = s + c,
                     .c_stride = stride,
                     .accumulate = false,
                     .engine = a.engine},
                    gemm_scratch);
    }
  }
  for (int64_t n = 0; n < heads * rows; ++n) {
    attention_row(a, b, h + n / rows, i0 + n % rows, j0, cols, s + n * stride,
                  slope != nullptr ? slope + n * stride : nullptr);
  }
}

/// Returns the sum of n elements between 0 and 1, each rounded to a multiple of 2^-36. All sums of
/// up to 2^17 elements are exact, so the result depends neither on the order of the elements nor on
/// additional zeros. If the largest element is 1, the relative error is at most n * 2^-37.
HWY_INLINE double row_exact_sum(const float* x, int64_t n) {
  const hn::ScalableTag<double> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  // Numbers near this one are multiples of 2^-36.
  const auto shift = hn::Set(d, 0x1.8p16);
  auto sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    sum = hn::Add(sum, hn::Sub(hn::Add(load_as_double(d, x + i), shift), shift));
  if (i < n) {
    const auto last = load_part_as_double(d, x + i, static_cast<size_t>(n - i));
    sum = hn::Add(sum, hn::Sub(hn::Add(last, shift), shift));
  }
  return sum_lanes(d, sum);
}
/// The sum in order, to which additional zeros make no difference either.
HWY_INLINE double row_exact_sum(const double* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

/// Sets factor[c] to the dropout factor, keep_scale or 0, for query i and key j0 + c.
template <class T>
HWY_INLINE void attention_dropout(const AttentionArgs<T>& a, int64_t b, int64_t h, int64_t i,
                                  int64_t j0, int64_t cols, T* factor) {
  const uint64_t first = static_cast<uint64_t>(a.query_row(b, h, i) * a.Lk + j0);
  const uint64_t end = first + static_cast<uint64_t>(cols);
  for (uint64_t block = first / 4; block * 4 < end; ++block) {
    const PhiloxBlock words = a.random.block(block);
    for (uint64_t w = 0; w < 4; ++w) {
      const uint64_t element = block * 4 + w;
      if (element < first || element >= end) continue;
      factor[element - first] = words[w] >= a.drop_below ? a.keep_scale : T(0);
    }
  }
}

/// Computes x[c] *= factor[c].
template <class T>
HWY_INLINE void row_multiply(T* x, const T* factor, int64_t n) {
  for (int64_t c = 0; c < n; ++c) x[c] *= factor[c];
}

/// Sets entries that are less than 2^-32 times the largest entry of the row to 0. They are far
/// below the precision of any matrix unit. Otherwise, entries that are too small for a matrix unit
/// (exp yields values down to denormals) would force the whole row to use fused multiply-adds.
template <class T>
HWY_INLINE void row_drop_tiny(T* x, int64_t n) {
  T largest = 0;
  for (int64_t c = 0; c < n; ++c) {
    const T magnitude = x[c] < 0 ? -x[c] : x[c];
    largest = magnitude > largest ? magnitude : largest;
  }
  if (largest - largest != 0) return;  // infinite
  const T least = largest * static_cast<T>(0x1p-32);
  for (int64_t c = 0; c < n; ++c) x[c] = x[c] < least && x[c] > -least ? T(0) : x[c];
}

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard

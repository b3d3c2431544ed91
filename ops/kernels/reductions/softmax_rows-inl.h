// Vectorised primitives on rows, shared by the softmax, cross-entropy, norm and attention kernels.
// Included once per SIMD target. Blocks of at most kSumBlock elements are summed in vectors of T,
// and the block sums are added in double, so that the error does not grow with the length of the
// row.
#if defined(WEFT_OPS_KERNELS_SOFTMAX_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_OPS_KERNELS_SOFTMAX_ROWS_INL_H_
#undef WEFT_OPS_KERNELS_SOFTMAX_ROWS_INL_H_
#else
#define WEFT_OPS_KERNELS_SOFTMAX_ROWS_INL_H_
#endif

#include <math.h>

#include "hwy/contrib/math/math-inl.h"
#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {

/// A vector tag with at most 16 lanes, so that rows padded to 16 elements can be read in whole
/// vectors on every target.
template <class T>
using RowTag = hn::CappedTag<T, 16>;

inline constexpr int64_t kSumBlock = 1024;

template <class T>
HWY_INLINE T negative_infinity() {
  return -static_cast<T>(HUGE_VAL);
}

/// Loads a vector from memory of which only `left` (> 0) elements may be read. The other lanes are
/// set to `fill`.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_any(D d, const T* from, int64_t left, T fill) {
  if (HWY_LIKELY(left >= static_cast<int64_t>(hn::Lanes(d)))) return hn::LoadU(d, from);
  return load_part_or(fill, d, from, static_cast<size_t>(left));
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_any(hn::Vec<D> v, D d, T* to, int64_t left) {
  if (HWY_LIKELY(left >= static_cast<int64_t>(hn::Lanes(d)))) {
    hn::StoreU(v, d, to);
  } else {
    store_part(v, d, to, static_cast<size_t>(left));
  }
}

/// Returns exp(x) for x <= 0. NaN remains NaN, whereas Highway's Exp returns 0 for NaN.
template <class D>
HWY_INLINE hn::Vec<D> exp_of_negative(D d, hn::Vec<D> x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, x));
}

/// Returns the largest of n elements, or -inf for n = 0. If an element is NaN, the result may or
/// may not be NaN. This does not matter, because the exponential of this element is NaN in any
/// case.
template <class T>
HWY_INLINE T row_max(const T* x, int64_t n) {
  const RowTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto m = hn::Set(d, negative_infinity<T>());
  for (int64_t i = 0; i < n; i += lanes) {
    m = hn::Max(m, load_any(d, x + i, n - i, negative_infinity<T>()));
  }
  return max_lanes(d, m);
}

/// Returns the sum of exp(x[i] - shift). Writes the terms to `out` unless it is null. `out` may be
/// equal to x.
template <class T>
HWY_INLINE double row_sum_exp(const T* x, int64_t n, T shift, T* out) {
  const RowTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto m = hn::Set(d, shift);
  double total = 0;
  for (int64_t block = 0; block < n; block += kSumBlock) {
    const int64_t end = HWY_MIN(n, block + kSumBlock);
    auto sum = hn::Zero(d);
    for (int64_t i = block; i < end; i += lanes) {
      auto e = exp_of_negative(d, hn::Sub(load_any(d, x + i, end - i, T(0)), m));
      if (out != nullptr) store_any(e, d, out + i, end - i);
      if (HWY_UNLIKELY(end - i < lanes)) {
        e = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(end - i)), e);
      }
      sum = hn::Add(sum, e);
    }
    total += static_cast<double>(sum_lanes(d, sum));
  }
  return total;
}

/// Probabilities exp(x - lse) that are computed from a stored log-sum-exp have the relative error
/// of its rounding, up to |lse| * 2^-25 in float. If |lse| exceeds this bound, at which the error
/// is 1e-6, they are divided by their sum, provided that the sum differs from 1 by no more than the
/// rounding explains.
inline constexpr double kLargeLse = 32;

/// Returns the factor that corrects probabilities exp(x - lse), whose sum is `sum`, for the
/// rounding of lse: 1 / sum, or 1 if |lse| is small or the rounding does not explain the difference
/// of `sum` from 1, that is, lse is not the log-sum-exp of x.
template <class T>
HWY_INLINE T lse_correction(double sum, T lse) {
  const double size = ::fabs(static_cast<double>(lse));
  constexpr double kRounding = sizeof(T) == sizeof(float) ? 0x1p-22 : 0x1p-51;
  const bool large = size > kLargeLse && size - size == 0;
  return large && ::fabs(::log(sum)) <= kRounding * size ? static_cast<T>(1 / sum) : T(1);
}

/// Returns the sum of n elements.
template <class T>
HWY_INLINE double row_sum(const T* x, int64_t n) {
  const RowTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  double total = 0;
  for (int64_t block = 0; block < n; block += kSumBlock) {
    const int64_t end = HWY_MIN(n, block + kSumBlock);
    auto sum = hn::Zero(d);
    for (int64_t i = block; i < end; i += lanes) {
      sum = hn::Add(sum, load_any(d, x + i, end - i, T(0)));
    }
    total += static_cast<double>(sum_lanes(d, sum));
  }
  return total;
}

struct Moments {
  double sum, squares;
};

/// Returns the sums of x[i] - shift and (x[i] - shift)^2.
template <class T>
HWY_INLINE Moments row_moments(const T* x, int64_t n, T shift) {
  const RowTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto m = hn::Set(d, shift);
  Moments total = {0, 0};
  for (int64_t block = 0; block < n; block += kSumBlock) {
    const int64_t end = HWY_MIN(n, block + kSumBlock);
    auto sum = hn::Zero(d), squares = hn::Zero(d);
    for (int64_t i = block; i < end; i += lanes) {
      const auto v = hn::Sub(load_any(d, x + i, end - i, shift), m);
      sum = hn::Add(sum, v);
      squares = hn::MulAdd(v, v, squares);
    }
    total.sum += static_cast<double>(sum_lanes(d, sum));
    total.squares += static_cast<double>(sum_lanes(d, squares));
  }
  return total;
}

/// Returns the sum of a[i] * b[i].
template <class T>
HWY_INLINE double row_dot(const T* a, const T* b, int64_t n) {
  const RowTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  double total = 0;
  for (int64_t block = 0; block < n; block += kSumBlock) {
    const int64_t end = HWY_MIN(n, block + kSumBlock);
    auto sum = hn::Zero(d);
    for (int64_t i = block; i < end; i += lanes) {
      sum = hn::MulAdd(load_any(d, a + i, end - i, T(0)), load_any(d, b + i, end - i, T(0)), sum);
    }
    total += static_cast<double>(sum_lanes(d, sum));
  }
  return total;
}

/// Computes out[i] = factor * x[i]. `out` may be equal to x.
template <class T>
HWY_INLINE void row_scale(const T* x, int64_t n, T factor, T* out) {
  const RowTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto f = hn::Set(d, factor);
  for (int64_t i = 0; i < n; i += lanes) {
    store_any(hn::Mul(f, load_any(d, x + i, n - i, T(0))), d, out + i, n - i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard

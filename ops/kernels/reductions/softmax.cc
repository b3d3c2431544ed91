#include "weft/ops/kernels/reductions/softmax.h"

#include <math.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/reductions/softmax.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/reductions/short_rows-inl.h"
#include "weft/ops/kernels/reductions/softmax_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

/// Computes all whole vectors of short rows and returns the number of their rows.
template <class T>
int64_t short_rows(const T* x, T* y, int64_t count, int64_t n, bool log) {
  const RowTag<T> d;
  using V = hn::Vec<RowTag<T>>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (count < lanes || !is_short_row(n, n)) return 0;
  RowVectors<RowTag<T>> vectors(d, x, n);
  int64_t r = 0;
  for (; r + lanes <= count; r += lanes) {
    vectors.x = x + r * n;
    V v[kShortRow], e[kShortRow];
    V m = hn::Set(d, negative_infinity<T>());
    for (int64_t i = 0; i < n; ++i) m = hn::Max(m, v[i] = vectors(i));
    for (int64_t i = 0; i < n; ++i) {
      v[i] = hn::Sub(v[i], m);
      e[i] = exp_of_negative(d, v[i]);
    }
    const V sum = sum_short_rows(d, e, n);
    if (!log) {
      const V by = hn::Div(hn::Set(d, T(1)), sum);
      for (int64_t i = 0; i < n; ++i) vectors.store(hn::Mul(by, e[i]), y + r * n, i);
      continue;
    }
    HWY_ALIGN T sums[hn::MaxLanes(d)];
    hn::Store(sum, d, sums);
    for (int64_t i = 0; i < lanes; ++i) {
      sums[i] = static_cast<T>(::log(static_cast<double>(sums[i])));
    }
    const V log_sum = hn::Load(d, sums);
    for (int64_t i = 0; i < n; ++i) vectors.store(hn::Sub(v[i], log_sum), y + r * n, i);
  }
  return r;
}

template <class T>
void rows(const T* x, T* y, int64_t count, int64_t n, bool log) {
  const RowTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t done = short_rows(x, y, count, n, log);
  x += done * n;
  y += done * n;
  for (int64_t r = done; r < count; ++r, x += n, y += n) {
    const T m = row_max(x, n);
    if (!log) {
      const double sum = row_sum_exp(x, n, m, y);
      row_scale(y, n, static_cast<T>(1 / sum), y);
      continue;
    }
    const double sum = row_sum_exp<T>(x, n, m, nullptr);
    const auto shift = hn::Set(d, m), log_sum = hn::Set(d, static_cast<T>(::log(sum)));
    for (int64_t i = 0; i < n; i += lanes) {
      const auto v = load_any(d, x + i, n - i, T(0));
      store_any(hn::Sub(hn::Sub(v, shift), log_sum), d, y + i, n - i);
    }
  }
}

/// The number of elements of a column that are summed before their sum is added to the total.
constexpr int64_t kColumnBlock = 64;

template <class T>
void columns(const T* x, T* y, int64_t n, int64_t stride, int64_t begin, int64_t end, bool log) {
  const RowTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t c = begin; c < end; c += lanes) {
    const int64_t left = end - c;
    auto m = hn::Set(d, negative_infinity<T>());
    for (int64_t i = 0; i < n; ++i) m = hn::Max(m, load_any(d, x + i * stride + c, left, T(0)));
    auto total = hn::Zero(d);
    for (int64_t block = 0; block < n; block += kColumnBlock) {
      auto sum = hn::Zero(d);
      for (int64_t i = block; i < HWY_MIN(n, block + kColumnBlock); ++i) {
        const auto v = load_any(d, x + i * stride + c, left, T(0));
        const auto e = exp_of_negative(d, hn::Sub(v, m));
        if (!log) store_any(e, d, y + i * stride + c, left);
        sum = hn::Add(sum, e);
      }
      total = hn::Add(total, sum);
    }
    if (!log) {
      for (int64_t i = 0; i < n; ++i) {
        const auto v = load_any(d, y + i * stride + c, left, T(0));
        store_any(hn::Div(v, total), d, y + i * stride + c, left);
      }
      continue;
    }
    HWY_ALIGN T sums[16];
    hn::Store(total, d, sums);
    for (int64_t i = 0; i < lanes; ++i) {
      sums[i] = static_cast<T>(::log(static_cast<double>(sums[i])));
    }
    const auto log_sum = hn::Load(d, sums);
    for (int64_t i = 0; i < n; ++i) {
      const auto v = load_any(d, x + i * stride + c, left, T(0));
      store_any(hn::Sub(hn::Sub(v, m), log_sum), d, y + i * stride + c, left);
    }
  }
}

void rows_f32(const float* x, float* y, int64_t count, int64_t n, bool log) {
  rows(x, y, count, n, log);
}
void rows_f64(const double* x, double* y, int64_t count, int64_t n, bool log) {
  rows(x, y, count, n, log);
}
void columns_f32(const float* x, float* y, int64_t n, int64_t stride, int64_t begin, int64_t end,
                 bool log) {
  columns(x, y, n, stride, begin, end, log);
}
void columns_f64(const double* x, double* y, int64_t n, int64_t stride, int64_t begin, int64_t end,
                 bool log) {
  columns(x, y, n, stride, begin, end, log);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {
HWY_EXPORT(rows_f32);
HWY_EXPORT(rows_f64);
HWY_EXPORT(columns_f32);
HWY_EXPORT(columns_f64);
}  // namespace

void softmax_rows(const float* x, float* y, std::int64_t rows, std::int64_t n, bool log) {
  HWY_DYNAMIC_DISPATCH(rows_f32)(x, y, rows, n, log);
}
void softmax_rows(const double* x, double* y, std::int64_t rows, std::int64_t n, bool log) {
  HWY_DYNAMIC_DISPATCH(rows_f64)(x, y, rows, n, log);
}
void softmax_columns(const float* x, float* y, std::int64_t n, std::int64_t stride,
                     std::int64_t begin, std::int64_t end, bool log) {
  HWY_DYNAMIC_DISPATCH(columns_f32)(x, y, n, stride, begin, end, log);
}
void softmax_columns(const double* x, double* y, std::int64_t n, std::int64_t stride,
                     std::int64_t begin, std::int64_t end, bool log) {
  HWY_DYNAMIC_DISPATCH(columns_f64)(x, y, n, stride, begin, end, log);
}

}  // namespace weft
#endif

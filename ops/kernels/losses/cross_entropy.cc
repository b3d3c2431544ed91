#include "weft/ops/kernels/losses/cross_entropy.h"

#include <math.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/losses/cross_entropy.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/reductions/softmax_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

/// Returns max + ln(sum), or max if max is -inf.
template <class T>
T log_sum_exp(T max, double sum) {
  if (max == negative_infinity<T>() && !(sum != sum)) return max;
  return static_cast<T>(static_cast<double>(max) + ::log(sum));
}

template <class T>
void stats_rows(const LogitsStats<T>& a, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* x = a.x + r * a.n;
    const T m = row_max(x, a.n);
    const T shift = m == negative_infinity<T>() ? T(0) : m;
    a.lse[r] = log_sum_exp(m, row_sum_exp<T>(x, a.n, shift, nullptr));
    if (a.sum != nullptr) a.sum[r] = static_cast<T>(row_sum(x, a.n));
  }
}

/// The number of classes that are summed in T before their sum is added to the total.
constexpr int64_t kClassBlock = 64;

template <class T>
void stats_columns(const LogitsStats<T>& a, int64_t stride, int64_t begin, int64_t end) {
  const RowTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t c = begin; c < end; c += lanes) {
    const int64_t left = end - c;
    auto m = hn::Set(d, negative_infinity<T>());
    for (int64_t i = 0; i < a.n; ++i) m = hn::Max(m, load_any(d, a.x + i * stride + c, left, T(0)));
    const auto shift =
        hn::IfThenElse(hn::Eq(m, hn::Set(d, negative_infinity<T>())), hn::Zero(d), m);
    auto total_exp = hn::Zero(d), total = hn::Zero(d);
    for (int64_t block = 0; block < a.n; block += kClassBlock) {
      auto sum_exp = hn::Zero(d), sum = hn::Zero(d);
      for (int64_t i = block; i < HWY_MIN(a.n, block + kClassBlock); ++i) {
        const auto v = load_any(d, a.x + i * stride + c, left, T(0));
        sum_exp = hn::Add(sum_exp, exp_of_negative(d, hn::Sub(v, shift)));
        sum = hn::Add(sum, v);
      }
      total_exp = hn::Add(total_exp, sum_exp);
      total = hn::Add(total, sum);
    }
    HWY_ALIGN T maxima[16];
    HWY_ALIGN T sums[16];
    hn::Store(m, d, maxima);
    hn::Store(total_exp, d, sums);
    for (int64_t i = 0; i < HWY_MIN(lanes, left); ++i) {
      a.lse[c + i] = log_sum_exp(maxima[i], static_cast<double>(sums[i]));
    }
    if (a.sum != nullptr) store_any(total, d, a.sum + c, left);
  }
}

template <class T>
void grad_rows(const LogitsGrad<T>& a, int64_t rows) {
  const RowTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto shift = hn::Set(d, a.shift);
  for (int64_t r = 0; r < rows; ++r) {
    const T* x = a.x + r * a.n;
    T* dx = a.dx + r * a.n;
    if (a.g[r] == 0) {
      for (int64_t i = 0; i < a.n; ++i) dx[i] = 0;
      continue;
    }
    const auto lse = hn::Set(d, a.lse[r]), g = hn::Set(d, a.g[r]);
    for (int64_t i = 0; i < a.n; i += lanes) {
      const auto v = load_any(d, x + i, a.n - i, T(0));
      const auto p = exp_of_negative(d, hn::Sub(v, lse));
      store_any(hn::Mul(g, hn::Sub(p, shift)), d, dx + i, a.n - i);
    }
  }
}

template <class T>
void grad_columns(const LogitsGrad<T>& a, int64_t stride, int64_t begin, int64_t end) {
  const RowTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto shift = hn::Set(d, a.shift);
  for (int64_t c = begin; c < end; c += lanes) {
    const int64_t left = end - c;
    const auto g = load_any(d, a.g + c, left, T(0)), lse = load_any(d, a.lse + c, left, T(0));
    // (Eq is used instead of Ne, because Ne in Highway 1.0.3 returns false for NaN on AVX2.)
    const auto ignored = hn::Eq(g, hn::Zero(d));
    for (int64_t i = 0; i < a.n; ++i) {
      const auto v = load_any(d, a.x + i * stride + c, left, T(0));
      const auto p = exp_of_negative(d, hn::Sub(v, lse));
      const auto dx = hn::IfThenZeroElse(ignored, hn::Mul(g, hn::Sub(p, shift)));
      store_any(dx, d, a.dx + i * stride + c, left);
    }
  }
}

void stats_rows_f32(const LogitsStats<float>& a, int64_t rows) { stats_rows(a, rows); }
void stats_rows_f64(const LogitsStats<double>& a, int64_t rows) { stats_rows(a, rows); }
void stats_columns_f32(const LogitsStats<float>& a, int64_t stride, int64_t begin, int64_t end) {
  stats_columns(a, stride, begin, end);
}
void stats_columns_f64(const LogitsStats<double>& a, int64_t stride, int64_t begin, int64_t end) {
  stats_columns(a, stride, begin, end);
}
void grad_rows_f32(const LogitsGrad<float>& a, int64_t rows) { grad_rows(a, rows); }
void grad_rows_f64(const LogitsGrad<double>& a, int64_t rows) { grad_rows(a, rows); }
void grad_columns_f32(const LogitsGrad<float>& a, int64_t stride, int64_t begin, int64_t end) {
  grad_columns(a, stride, begin, end);
}
void grad_columns_f64(const LogitsGrad<double>& a, int64_t stride, int64_t begin, int64_t end) {
  grad_columns(a, stride, begin, end);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {
HWY_EXPORT(stats_rows_f32);
HWY_EXPORT(stats_rows_f64);
HWY_EXPORT(stats_columns_f32);
HWY_EXPORT(stats_columns_f64);
HWY_EXPORT(grad_rows_f32);
HWY_EXPORT(grad_rows_f64);
HWY_EXPORT(grad_columns_f32);
HWY_EXPORT(grad_columns_f64);
}  // namespace

void logits_rows(const LogitsStats<float>& args, std::int64_t rows) {
  HWY_DYNAMIC_DISPATCH(stats_rows_f32)(args, rows);
}
void logits_rows(const LogitsStats<double>& args, std::int64_t rows) {
  HWY_DYNAMIC_DISPATCH(stats_rows_f64)(args, rows);
}
void logits_columns(const LogitsStats<float>& args, std::int64_t stride, std::int64_t begin,
                    std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(stats_columns_f32)(args, stride, begin, end);
}
void logits_columns(const LogitsStats<double>& args, std::int64_t stride, std::int64_t begin,
                    std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(stats_columns_f64)(args, stride, begin, end);
}
void logits_grad_rows(const LogitsGrad<float>& args, std::int64_t rows) {
  HWY_DYNAMIC_DISPATCH(grad_rows_f32)(args, rows);
}
void logits_grad_rows(const LogitsGrad<double>& args, std::int64_t rows) {
  HWY_DYNAMIC_DISPATCH(grad_rows_f64)(args, rows);
}
void logits_grad_columns(const LogitsGrad<float>& args, std::int64_t stride, std::int64_t begin,
                         std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(grad_columns_f32)(args, stride, begin, end);
}
void logits_grad_columns(const LogitsGrad<double>& args, std::int64_t stride, std::int64_t begin,
                         std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(grad_columns_f64)(args, stride, begin, end);
}

}  // namespace weft
#endif

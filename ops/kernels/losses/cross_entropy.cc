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

template <class T>
bool is_large(T lse) {
  return ::fabs(static_cast<double>(lse)) > kLargeLse;
}

template <class T>
void stats_rows(const LogitsStats<T>& a, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* x = a.x + r * a.n;
    const T m = row_max(x, a.n);
    const T shift = m == negative_infinity<T>() ? T(0) : m;
    a.max[r] = m;
    a.log_sum[r] = ::log(row_sum_exp<T>(x, a.n, shift, nullptr));
    if (a.excess != nullptr) a.excess[r] = static_cast<T>(row_moments(x, a.n, shift).sum);
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
    auto total_exp = hn::Zero(d), excess = hn::Zero(d);
    for (int64_t block = 0; block < a.n; block += kClassBlock) {
      auto sum_exp = hn::Zero(d), sum = hn::Zero(d);
      for (int64_t i = block; i < HWY_MIN(a.n, block + kClassBlock); ++i) {
        const auto v = hn::Sub(load_any(d, a.x + i * stride + c, left, T(0)), shift);
        sum_exp = hn::Add(sum_exp, exp_of_negative(d, v));
        sum = hn::Add(sum, v);
      }
      total_exp = hn::Add(total_exp, sum_exp);
      excess = hn::Add(excess, sum);
    }
    store_any(m, d, a.max + c, left);
    HWY_ALIGN T sums[16];
    hn::Store(total_exp, d, sums);
    for (int64_t i = 0; i < HWY_MIN(lanes, left); ++i) {
      a.log_sum[c + i] = ::log(static_cast<double>(sums[i]));
    }
    if (a.excess != nullptr) store_any(excess, d, a.excess + c, left);
  }
}

/// Returns t * (max - x), or 0 if t is 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V target_distance(D d, V t, V max, V x) {
  return hn::IfThenZeroElse(hn::Eq(t, hn::Zero(d)), hn::Mul(t, hn::Sub(max, x)));
}

template <class T>
void target_stats_rows(const TargetStats<T>& a, int64_t rows) {
  const RowTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < rows; ++r) {
    const T* t = a.t + r * a.n;
    a.total[r] = row_sum(t, a.n);
    if (a.distance == nullptr) continue;
    const T* x = a.x + r * a.n;
    const auto max = hn::Set(d, a.max[r]);
    double total = 0;
    for (int64_t block = 0; block < a.n; block += kSumBlock) {
      const int64_t end = HWY_MIN(a.n, block + kSumBlock);
      auto sum = hn::Zero(d);
      for (int64_t i = block; i < end; i += lanes) {
        sum = hn::Add(sum, target_distance(d, load_any(d, t + i, end - i, T(0)), max,
                                           load_any(d, x + i, end - i, T(0))));
      }
      total += static_cast<double>(sum_lanes(d, sum));
    }
    a.distance[r] = total;
  }
}

/// Writes the first `left` lanes as doubles.
template <class T>
void store_doubles(hn::Vec<RowTag<T>> v, double* to, int64_t left) {
  const RowTag<T> d;
  HWY_ALIGN T lanes[16] = {};
  hn::Store(v, d, lanes);
  const int64_t count = HWY_MIN(static_cast<int64_t>(hn::Lanes(d)), left);
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<double>(lanes[i]);
}

template <class T>
void target_stats_columns(const TargetStats<T>& a, int64_t stride, int64_t begin, int64_t end) {
  const RowTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t c = begin; c < end; c += lanes) {
    const int64_t left = end - c;
    const auto max = a.distance == nullptr ? hn::Zero(d) : load_any(d, a.max + c, left, T(0));
    auto total = hn::Zero(d), distance = hn::Zero(d);
    for (int64_t block = 0; block < a.n; block += kClassBlock) {
      auto sum = hn::Zero(d), part = hn::Zero(d);
      for (int64_t i = block; i < HWY_MIN(a.n, block + kClassBlock); ++i) {
        const auto t = load_any(d, a.t + i * stride + c, left, T(0));
        sum = hn::Add(sum, t);
        if (a.distance == nullptr) continue;
        const auto x = load_any(d, a.x + i * stride + c, left, T(0));
        part = hn::Add(part, target_distance(d, t, max, x));
      }
      total = hn::Add(total, sum);
      distance = hn::Add(distance, part);
    }
    store_doubles<T>(total, a.total + c, left);
    if (a.distance != nullptr) store_doubles<T>(distance, a.distance + c, left);
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
    if (is_large(a.lse[r])) {
      const double sum = row_sum_exp(x, a.n, a.lse[r], dx);
      const auto by = hn::Set(d, lse_correction(sum, a.lse[r]));
      for (int64_t i = 0; i < a.n; i += lanes) {
        const auto p = hn::Mul(load_any(d, dx + i, a.n - i, T(0)), by);
        store_any(hn::Mul(g, hn::Sub(p, shift)), d, dx + i, a.n - i);
      }
      continue;
    }
    for (int64_t i = 0; i < a.n; i += lanes) {
      const auto v = load_any(d, x + i, a.n - i, T(0));
      const auto p = exp_of_negative(d, hn::Sub(v, lse));
      store_any(hn::Mul(g, hn::Sub(p, shift)), d, dx + i, a.n - i);
    }
  }
}

/// Returns the sums of exp(x - lse) of one vector of columns, starting with column c.
template <class T>
hn::Vec<RowTag<T>> column_sum_exp(const LogitsGrad<T>& a, int64_t stride, int64_t c, int64_t left,
                                  hn::Vec<RowTag<T>> lse) {
  const RowTag<T> d;
  auto total = hn::Zero(d);
  for (int64_t block = 0; block < a.n; block += kClassBlock) {
    auto sum = hn::Zero(d);
    for (int64_t i = block; i < HWY_MIN(a.n, block + kClassBlock); ++i) {
      const auto v = load_any(d, a.x + i * stride + c, left, T(0));
      sum = hn::Add(sum, exp_of_negative(d, hn::Sub(v, lse)));
    }
    total = hn::Add(total, sum);
  }
  return total;
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
    const auto large = hn::Gt(hn::Abs(lse), hn::Set(d, static_cast<T>(kLargeLse)));
    auto by = hn::Set(d, T(1));
    if (!hn::AllFalse(d, large)) {
      HWY_ALIGN T factors[16];
      hn::Store(column_sum_exp(a, stride, c, left, lse), d, factors);
      for (int64_t i = 0; i < HWY_MIN(lanes, left); ++i) {
        factors[i] = lse_correction(static_cast<double>(factors[i]), a.lse[c + i]);
      }
      by = hn::Load(d, factors);
    }
    for (int64_t i = 0; i < a.n; ++i) {
      const auto v = load_any(d, a.x + i * stride + c, left, T(0));
      const auto p = hn::Mul(exp_of_negative(d, hn::Sub(v, lse)), by);
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
void target_rows_f32(const TargetStats<float>& a, int64_t rows) { target_stats_rows(a, rows); }
void target_rows_f64(const TargetStats<double>& a, int64_t rows) { target_stats_rows(a, rows); }
void target_columns_f32(const TargetStats<float>& a, int64_t stride, int64_t begin, int64_t end) {
  target_stats_columns(a, stride, begin, end);
}
void target_columns_f64(const TargetStats<double>& a, int64_t stride, int64_t begin, int64_t end) {
  target_stats_columns(a, stride, begin, end);
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
HWY_EXPORT(target_rows_f32);
HWY_EXPORT(target_rows_f64);
HWY_EXPORT(target_columns_f32);
HWY_EXPORT(target_columns_f64);
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
void target_rows(const TargetStats<float>& args, std::int64_t rows) {
  HWY_DYNAMIC_DISPATCH(target_rows_f32)(args, rows);
}
void target_rows(const TargetStats<double>& args, std::int64_t rows) {
  HWY_DYNAMIC_DISPATCH(target_rows_f64)(args, rows);
}
void target_columns(const TargetStats<float>& args, std::int64_t stride, std::int64_t begin,
                    std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(target_columns_f32)(args, stride, begin, end);
}
void target_columns(const TargetStats<double>& args, std::int64_t stride, std::int64_t begin,
                    std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(target_columns_f64)(args, stride, begin, end);
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

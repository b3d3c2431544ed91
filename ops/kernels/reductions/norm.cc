#include "weft/ops/kernels/reductions/norm.h"

#include <math.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/reductions/norm.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/reductions/short_rows-inl.h"
#include "weft/ops/kernels/reductions/softmax_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

/// Returns the part of the mean of a row that is lost when the mean is rounded to T, given the sum
/// of x - mean. Returns 0 if it is below the precision of the normalised values, as it is unless
/// the mean is much larger than the deviations from it, or if rounding does not explain the
/// difference, that is, `mean` is not the mean of x.
template <class T>
T lost_mean(double sum, int64_t n, T mean, double rstd) {
  const double rest = sum / static_cast<double>(n), size = ::fabs(rest);
  constexpr double kEpsilon = sizeof(T) == sizeof(float) ? 0x1p-23 : 0x1p-52;
  const bool lost =
      size * rstd > 8 * kEpsilon && size <= 256 * kEpsilon * ::fabs(static_cast<double>(mean));
  return lost ? static_cast<T>(rest) : T(0);
}

/// The statistics of one row, computed from the sums of x - mean and (x - mean)^2.
template <class T>
struct RowStatistics {
  T lost = 0, rstd = 0;

  RowStatistics(const NormRows<T>& a, T mean, Moments moments) {
    double variance = moments.squares / static_cast<double>(a.n);
    if (a.centered) {
      lost = lost_mean(moments.sum, a.n, mean, 1 / ::sqrt(variance + a.eps));
      variance -= static_cast<double>(lost) * static_cast<double>(lost);
      if (variance < 0) variance = 0;
    }
    rstd = static_cast<T>(1 / ::sqrt(variance + a.eps));
  }
};

/// Normalises all whole vectors of short rows in [begin, end). Returns the first row that is left.
template <class T>
int64_t short_rows_forward(const NormRows<T>& a, int64_t begin, int64_t end) {
  const RowTag<T> d;
  using V = hn::Vec<RowTag<T>>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), n = a.n;
  if (end - begin < lanes || !is_short_row(n, n)) return begin;
  RowVectors<RowTag<T>> vectors(d, a.x, n);
  int64_t r = begin;
  for (; r + lanes <= end; r += lanes) {
    vectors.x = a.x + r * n;
    V v[kShortRow];
    for (int64_t i = 0; i < n; ++i) v[i] = vectors(i);
    const V mean =
        a.centered ? hn::Div(sum_short_rows(d, v, n), hn::Set(d, static_cast<T>(n))) : hn::Zero(d);
    for (int64_t i = 0; i < n; ++i) v[i] = hn::Sub(v[i], mean);
    HWY_ALIGN T means[hn::MaxLanes(d)];
    HWY_ALIGN T sums[hn::MaxLanes(d)];
    HWY_ALIGN T squares[hn::MaxLanes(d)];
    hn::Store(mean, d, means);
    hn::Store(sum_short_rows(d, v, n), d, sums);
    hn::Store(sum_squares_of_short_rows(d, v, n), d, squares);
    for (int64_t i = 0; i < lanes; ++i) {
      const RowStatistics<T> row(a, means[i],
                                 {static_cast<double>(sums[i]), static_cast<double>(squares[i])});
      sums[i] = row.lost;
      squares[i] = row.rstd;
    }
    const V lost = hn::Load(d, sums), rstd = hn::Load(d, squares);
    if (a.mean != nullptr) hn::StoreU(mean, d, a.mean + r);
    if (a.rstd != nullptr) hn::StoreU(rstd, d, a.rstd + r);
    for (int64_t i = 0; a.y != nullptr && i < n; ++i) {
      auto y = hn::Mul(hn::Sub(v[i], lost), rstd);
      if (a.gain != nullptr) y = hn::Mul(y, hn::Set(d, a.gain[i]));
      if (a.bias != nullptr) y = hn::Add(y, hn::Set(d, a.bias[i]));
      vectors.store(y, a.y + r * n, i);
    }
  }
  return r;
}

template <class T>
void forward(const NormRows<T>& a, int64_t begin, int64_t end) {
  const RowTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), n = a.n;
  for (int64_t r = short_rows_forward(a, begin, end); r < end; ++r) {
    const T* x = a.x + r * n;
    const T mean = a.centered ? static_cast<T>(row_sum(x, n) / static_cast<double>(n)) : T(0);
    const RowStatistics<T> row(a, mean, row_moments(x, n, mean));
    if (a.mean != nullptr) a.mean[r] = mean;
    if (a.rstd != nullptr) a.rstd[r] = row.rstd;
    if (a.y == nullptr) continue;
    T* y = a.y + r * n;
    const auto m = hn::Set(d, mean), lost = hn::Set(d, row.lost), s = hn::Set(d, row.rstd);
    for (int64_t i = 0; i < n; i += lanes) {
      const int64_t left = n - i;
      auto v = hn::Mul(hn::Sub(hn::Sub(load_any(d, x + i, left, T(0)), m), lost), s);
      if (a.gain != nullptr) v = hn::Mul(v, load_any(d, a.gain + i, left, T(0)));
      if (a.bias != nullptr) v = hn::Add(v, load_any(d, a.bias + i, left, T(0)));
      store_any(v, d, y + i, left);
    }
  }
}

template <class T>
void backward(const NormGradRows<T>& a, int64_t begin, int64_t end, T* dgain, T* dbias) {
  const RowTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), n = a.n;
  for (int64_t i = 0; i < n; ++i) {
    if (dgain != nullptr) dgain[i] = 0;
    if (dbias != nullptr) dbias[i] = 0;
  }
  for (int64_t r = begin; r < end; ++r) {
    const T* x = a.x + r * n;
    const T* g = a.g + r * n;
    const auto m = hn::Set(d, a.mean != nullptr ? a.mean[r] : T(0)), s = hn::Set(d, a.rstd[r]);
    T part = 0;
    if (a.mean != nullptr) {
      part =
          lost_mean(row_moments(x, n, a.mean[r]).sum, n, a.mean[r], static_cast<double>(a.rstd[r]));
    }
    const auto lost = hn::Set(d, part);
    double sum_h = 0, sum_h_xhat = 0;
    for (int64_t block = 0; block < n; block += kSumBlock) {
      const int64_t stop = HWY_MIN(n, block + kSumBlock);
      auto h_acc = hn::Zero(d), hx_acc = hn::Zero(d);
      for (int64_t i = block; i < stop; i += lanes) {
        const int64_t left = stop - i;
        const auto gv = load_any(d, g + i, left, T(0));
        const auto xhat = hn::Mul(hn::Sub(hn::Sub(load_any(d, x + i, left, T(0)), m), lost), s);
        const auto h = a.gain != nullptr ? hn::Mul(gv, load_any(d, a.gain + i, left, T(0))) : gv;
        h_acc = hn::Add(h_acc, h);
        hx_acc = hn::MulAdd(h, xhat, hx_acc);
        if (dgain != nullptr) {
          store_any(hn::MulAdd(gv, xhat, load_any(d, dgain + i, left, T(0))), d, dgain + i, left);
        }
        if (dbias != nullptr) {
          store_any(hn::Add(gv, load_any(d, dbias + i, left, T(0))), d, dbias + i, left);
        }
      }
      sum_h += static_cast<double>(sum_lanes(d, h_acc));
      sum_h_xhat += static_cast<double>(sum_lanes(d, hx_acc));
    }
    if (a.dx == nullptr) continue;
    T* dx = a.dx + r * n;
    const double count = static_cast<double>(n);
    const auto mean_h = hn::Set(d, a.centered ? static_cast<T>(sum_h / count) : T(0));
    const auto mean_hx = hn::Set(d, static_cast<T>(sum_h_xhat / count));
    for (int64_t i = 0; i < n; i += lanes) {
      const int64_t left = n - i;
      const auto gv = load_any(d, g + i, left, T(0));
      const auto xhat = hn::Mul(hn::Sub(hn::Sub(load_any(d, x + i, left, T(0)), m), lost), s);
      const auto h = a.gain != nullptr ? hn::Mul(gv, load_any(d, a.gain + i, left, T(0))) : gv;
      const auto v = hn::NegMulAdd(xhat, mean_hx, hn::Sub(h, mean_h));
      store_any(hn::Mul(v, s), d, dx + i, left);
    }
  }
}

void forward_f32(const NormRows<float>& a, int64_t begin, int64_t end) { forward(a, begin, end); }
void forward_f64(const NormRows<double>& a, int64_t begin, int64_t end) { forward(a, begin, end); }
void backward_f32(const NormGradRows<float>& a, int64_t begin, int64_t end, float* dgain,
                  float* dbias) {
  backward(a, begin, end, dgain, dbias);
}
void backward_f64(const NormGradRows<double>& a, int64_t begin, int64_t end, double* dgain,
                  double* dbias) {
  backward(a, begin, end, dgain, dbias);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {
HWY_EXPORT(forward_f32);
HWY_EXPORT(forward_f64);
HWY_EXPORT(backward_f32);
HWY_EXPORT(backward_f64);
}  // namespace

void norm_rows(const NormRows<float>& args, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(forward_f32)(args, begin, end);
}
void norm_rows(const NormRows<double>& args, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(forward_f64)(args, begin, end);
}
void norm_grad_rows(const NormGradRows<float>& args, std::int64_t begin, std::int64_t end,
                    float* dgain, float* dbias) {
  HWY_DYNAMIC_DISPATCH(backward_f32)(args, begin, end, dgain, dbias);
}
void norm_grad_rows(const NormGradRows<double>& args, std::int64_t begin, std::int64_t end,
                    double* dgain, double* dbias) {
  HWY_DYNAMIC_DISPATCH(backward_f64)(args, begin, end, dgain, dbias);
}

}  // namespace weft
#endif

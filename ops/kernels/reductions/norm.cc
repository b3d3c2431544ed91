#include "weft/ops/kernels/reductions/norm.h"

#include <math.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/reductions/norm.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/reductions/softmax_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

template <class T>
void forward(const NormRows<T>& a, int64_t begin, int64_t end) {
  const RowTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), n = a.n;
  for (int64_t r = begin; r < end; ++r) {
    const T* x = a.x + r * n;
    const T mean = a.centered ? static_cast<T>(row_sum(x, n) / static_cast<double>(n)) : T(0);
    const double variance = row_sum_squares(x, n, mean) / static_cast<double>(n);
    const T rstd = static_cast<T>(1 / ::sqrt(variance + a.eps));
    if (a.mean != nullptr) a.mean[r] = mean;
    if (a.rstd != nullptr) a.rstd[r] = rstd;
    if (a.y == nullptr) continue;
    T* y = a.y + r * n;
    const auto m = hn::Set(d, mean), s = hn::Set(d, rstd);
    for (int64_t i = 0; i < n; i += lanes) {
      const int64_t left = n - i;
      auto v = hn::Mul(hn::Sub(load_any(d, x + i, left, T(0)), m), s);
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
    double sum_h = 0, sum_h_xhat = 0;
    for (int64_t block = 0; block < n; block += kSumBlock) {
      const int64_t stop = HWY_MIN(n, block + kSumBlock);
      auto h_acc = hn::Zero(d), hx_acc = hn::Zero(d);
      for (int64_t i = block; i < stop; i += lanes) {
        const int64_t left = stop - i;
        const auto gv = load_any(d, g + i, left, T(0));
        const auto xhat = hn::Mul(hn::Sub(load_any(d, x + i, left, T(0)), m), s);
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
      const auto xhat = hn::Mul(hn::Sub(load_any(d, x + i, left, T(0)), m), s);
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

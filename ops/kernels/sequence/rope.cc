#include "weft/ops/kernels/sequence/rope.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/sequence/rope.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/reductions/softmax_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

template <class T>
void halves(const RopeRows<T>& args, const T* x, T* y, const T* cosines, const T* sines) {
  const RowTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), n = args.pairs;
  for (int64_t j = 0; j < n; j += lanes) {
    const int64_t left = n - j;
    const auto a = load_any(d, x + j, left, T(0)), b = load_any(d, x + n + j, left, T(0));
    const auto c = load_any(d, cosines + j, left, T(0)), s = load_any(d, sines + j, left, T(0));
    store_any(hn::NegMulAdd(b, s, hn::Mul(a, c)), d, y + j, left);
    store_any(hn::MulAdd(a, s, hn::Mul(b, c)), d, y + n + j, left);
  }
}

template <class T>
void adjacent(const RopeRows<T>& args, const T* x, T* y, const T* cosines, const T* sines) {
  const RowTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), n = args.pairs;
  HWY_ALIGN T even[16];
  HWY_ALIGN T odd[16];
  for (int64_t j = 0; j < n; j += lanes) {
    const int64_t left = HWY_MIN(lanes, n - j);
    hn::Store(hn::Zero(d), d, even);
    hn::Store(hn::Zero(d), d, odd);
    for (int64_t i = 0; i < left; ++i) {
      even[i] = x[2 * (j + i)];
      odd[i] = x[2 * (j + i) + 1];
    }
    const auto a = hn::Load(d, even), b = hn::Load(d, odd);
    const auto c = load_any(d, cosines + j, left, T(0)), s = load_any(d, sines + j, left, T(0));
    hn::Store(hn::NegMulAdd(b, s, hn::Mul(a, c)), d, even);
    hn::Store(hn::MulAdd(a, s, hn::Mul(b, c)), d, odd);
    for (int64_t i = 0; i < left; ++i) {
      y[2 * (j + i)] = even[i];
      y[2 * (j + i) + 1] = odd[i];
    }
  }
}

template <class T>
void rotate(const RopeRows<T>& args) {
  for (int64_t r = 0; r < args.rows; ++r) {
    const T* x = args.x + r * args.width;
    T* y = args.y + r * args.width;
    const T* cosines = args.cosines + r * args.pairs;
    const T* sines = args.sines + r * args.pairs;
    if (args.adjacent) {
      adjacent(args, x, y, cosines, sines);
    } else {
      halves(args, x, y, cosines, sines);
    }
    for (int64_t i = 2 * args.pairs; i < args.width; ++i) y[i] = x[i];
  }
}

void rotate_f32(const RopeRows<float>& args) { rotate(args); }
void rotate_f64(const RopeRows<double>& args) { rotate(args); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {
HWY_EXPORT(rotate_f32);
HWY_EXPORT(rotate_f64);
}  // namespace

void rope_rows(const RopeRows<float>& args) { HWY_DYNAMIC_DISPATCH(rotate_f32)(args); }
void rope_rows(const RopeRows<double>& args) { HWY_DYNAMIC_DISPATCH(rotate_f64)(args); }

}  // namespace weft
#endif

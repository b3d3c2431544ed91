#include "weft/ops/kernels/quantized/quantize_rows.h"

#include <math.h>
#include <stdint.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/quantized/quantize_rows.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

template <class T>
struct Step {
  T step, inverse;
};

/// Returns the largest magnitude of a row, or NaN if the row contains NaN. Magnitudes are compared
/// as integers, so that NaN counts as the largest value.
template <class T>
HWY_INLINE T largest_magnitude(const T* x, int64_t n) {
  const Full<T> d;
  const hn::RebindToSigned<Full<T>> di;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto m = hn::Zero(di);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) m = hn::Max(m, hn::BitCast(di, hn::Abs(hn::LoadU(d, x + i))));
  if (i < n)
    m = hn::Max(m, hn::BitCast(di, hn::Abs(load_part(d, x + i, static_cast<size_t>(n - i)))));
  using Bits = hn::TFromD<decltype(di)>;
  HWY_ALIGN Bits magnitudes[hn::MaxLanes(di)];
  hn::Store(m, di, magnitudes);
  Bits most = 0;
  for (int64_t l = 0; l < lanes; ++l) most = HWY_MAX(most, magnitudes[l]);
  T result;
  memcpy(&result, &most, sizeof(result));
  return result;
}

template <class T>
HWY_INLINE Step<T> step_of(const T* x, int64_t n, const T* scale) {
  const T most = largest_magnitude(x, n), nan = static_cast<T>(NAN);
  if (scale != nullptr) {
    const bool usable = *scale >= T(0x1p-100) && *scale <= T(0x1p100) && most == most;
    return usable ? Step<T>{*scale, T(1) / *scale} : Step<T>{nan, T(0)};
  }
  if (!(most < static_cast<T>(INFINITY))) return {nan, T(0)};
  if (most < T(0x1p-100)) return {T(0), T(0)};
  return {most / T(127), T(127) / most};
}

/// Computes levels as floating-point numbers. Near 1.5 * 2^23 (1.5 * 2^52 in double), neighbouring
/// numbers differ by 1, so adding and subtracting this number rounds to nearest even.
template <class T>
struct Levels {
  T inverse;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    const auto magic = hn::Set(d, sizeof(T) == 4 ? T(0x1.8p23) : T(0x1.8p52));
    const auto most = hn::Set(d, T(127));
    const auto level = hn::Mul(x, hn::Set(d, inverse));
    const auto clamped = hn::Min(hn::Max(level, hn::Neg(most)), most);
    return hn::Sub(hn::Add(clamped, magic), magic);
  }
};

template <class T>
struct FakeQuantize {
  Step<T> step;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return hn::Mul(Levels<T>{step.inverse}(d, x), hn::Set(d, step.step));
  }
};

template <class T>
HWY_INLINE void fake_rows(const T* x, int64_t rows, int64_t n, const T* scale, T* y) {
  const Full<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const Step<T> step = step_of(x, n, scale);
    if (step.step == step.step) {
      map_row(FakeQuantize<T>{step}, x, y, n);
      continue;
    }
    const auto nan = hn::Set(d, step.step);
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) hn::StoreU(nan, d, y + i);
    if (i < n) store_part(nan, d, y + i, static_cast<size_t>(n - i));
  }
}
void fake_rows_f32(const float* x, int64_t rows, int64_t n, const float* scale, float* y) {
  fake_rows(x, rows, n, scale, y);
}
void fake_rows_f64(const double* x, int64_t rows, int64_t n, const double* scale, double* y) {
  fake_rows(x, rows, n, scale, y);
}

void level_rows(const float* x, int64_t rows, int64_t n, const float* scale, int8_t* levels,
                float* steps) {
  const Full<float> d;
  const hn::RebindToSigned<Full<float>> di;
  const hn::Rebind<int8_t, Full<float>> bytes;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < rows; ++r, x += n) {
    const Step<float> step = step_of(x, n, scale);
    if (steps != nullptr) steps[r] = step.step;
    if (levels == nullptr) continue;
    const bool usable = step.step == step.step;
    const Levels<float> level{step.inverse};
    for (int64_t i = 0; i < n; i += lanes) {
      const size_t count = static_cast<size_t>(HWY_MIN(lanes, n - i));
      const bool whole = count == static_cast<size_t>(lanes);
      auto v = hn::Zero(di);
      if (usable) {
        v = hn::ConvertTo(di, level(d, whole ? hn::LoadU(d, x + i) : load_part(d, x + i, count)));
      }
      const auto narrow = hn::DemoteTo(bytes, v);
      if (whole) {
        hn::StoreU(narrow, bytes, levels + i);
      } else {
        store_part(narrow, bytes, levels + i, count);
      }
    }
    levels += n;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {
namespace {
HWY_EXPORT(fake_rows_f32);
HWY_EXPORT(fake_rows_f64);
HWY_EXPORT(level_rows);
}  // namespace

void quantize_rows(const float* x, std::int64_t rows, std::int64_t n, const float* scale,
                   std::int8_t* levels, float* steps) {
  HWY_DYNAMIC_DISPATCH(level_rows)(x, rows, n, scale, levels, steps);
}
void fake_quantize_rows(const float* x, std::int64_t rows, std::int64_t n, const float* scale,
                        float* y) {
  HWY_DYNAMIC_DISPATCH(fake_rows_f32)(x, rows, n, scale, y);
}
void fake_quantize_rows(const double* x, std::int64_t rows, std::int64_t n, const double* scale,
                        double* y) {
  HWY_DYNAMIC_DISPATCH(fake_rows_f64)(x, rows, n, scale, y);
}

}  // namespace weft::kernels
#endif

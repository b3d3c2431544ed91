// Elementary functions on vectors of f32 and f64. They are correct for all inputs, including
// infinities, NaN, denormals, signed zeros and arguments outside the range that hwy/contrib/math
// supports. The error is at most 4 ULP (NormalCdf: see there) and, for exp, log, tanh and erf of
// floats, at most 2 ULP (ELEMENTARY.md). Included once per SIMD target; all definitions are in
// weft::HWY_NAMESPACE.
#if defined(WEFT_OPS_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_OPS_KERNELS_MATH_INL_H_
#undef WEFT_OPS_KERNELS_MATH_INL_H_
#else
#define WEFT_OPS_KERNELS_MATH_INL_H_
#endif

#include <math.h>

#include "hwy/contrib/math/math-inl.h"
#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {

/// Returns `value` in every lane, rounded to the element type.
template <class D>
HWY_INLINE hn::Vec<D> constant(D d, double value) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(value));
}
template <class D>
HWY_INLINE hn::Vec<D> infinity(D d) {
  return constant(d, HUGE_VAL);
}
/// Returns x in lanes in which x is NaN, and `value` in the other lanes. (IsNaN is used instead of
/// Ne(x, x), because Ne in Highway 1.0.3 returns false for NaN on AVX2.)
template <class D>
HWY_INLINE hn::Vec<D> keep_nan(D, hn::Vec<D> x, hn::Vec<D> value) {
  return hn::IfThenElse(hn::IsNaN(x), x, value);
}

/// Applies f, a C library function, to every lane.
template <class D>
HWY_NOINLINE hn::Vec<D> per_lane(D d, hn::VecArg<hn::Vec<D>> x, double (*f)(double)) {
  using T = hn::TFromD<D>;
  HWY_ALIGN T lanes[hn::MaxLanes(d)];
  hn::Store(x, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    lanes[i] = static_cast<T>(f(static_cast<double>(lanes[i])));
  }
  return hn::Load(d, lanes);
}

/// Returns e^x. Highway's function is only correct up to the overflow bound and returns 0 for NaN.
struct Exp {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    const auto bound = constant(d, sizeof(hn::TFromD<D>) == 4 ? 0x1.62e42ep6 : 0x1.62e42fefa39efp9);
    const auto y = hn::Exp(d, hn::Min(x, bound));
    return keep_nan(d, x, hn::IfThenElse(hn::Gt(x, bound), infinity(d), y));
  }
};

/// Returns e^x - 1.
struct Expm1 {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    const auto bound = constant(d, sizeof(hn::TFromD<D>) == 4 ? 0x1.62e42ep6 : 0x1.62e42fefa39efp9);
    const auto y = hn::Expm1(d, hn::Min(x, bound));
    const auto finite = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y);  // keeps -0
    return keep_nan(d, x, hn::IfThenElse(hn::Gt(x, bound), infinity(d), finite));
  }
};

/// Returns the natural logarithm, which is -inf at 0 and NaN for negative x.
struct Log {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    const auto inf = infinity(d);
    auto y = hn::Log(d, x);
    y = hn::IfThenElse(hn::Eq(x, inf), inf, y);
    y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(inf), y);
    y = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::NaN(d), y);
    return keep_nan(d, x, y);
  }
};

/// Returns log(1 + x), which is -inf at -1 and NaN for x < -1.
struct Log1p {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    const auto inf = infinity(d), minus_one = constant(d, -1.0);
    auto y = hn::Log1p(d, x);
    y = hn::IfThenElse(hn::Eq(x, inf), inf, y);
    y = hn::IfThenElse(hn::Eq(x, minus_one), hn::Neg(inf), y);
    y = hn::IfThenElse(hn::Lt(x, minus_one), hn::NaN(d), y);
    return keep_nan(d, x, y);
  }
};

/// Returns tanh(x). For floats with |x| up to 0.89, computes x + x^3 p(x^2) with a minimax
/// polynomial p, which yields a relative error of 2^-29. For larger |x|, computes 1 - 2 / (e^2|x| +
/// 1), which reduces the error of the exponential.
struct Tanh {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    if constexpr (sizeof(hn::TFromD<D>) == 8) {
      const auto y = hn::Tanh(d, x);
      return keep_nan(d, x, hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y));
    }
    const auto one = constant(d, 1.0), t = hn::Abs(x);
    const auto e = hn::Exp(d, hn::Min(hn::Add(t, t), constant(d, 40.0)));
    const auto outer = hn::Sub(one, hn::Div(constant(d, 2.0), hn::Add(e, one)));
    const auto s = hn::Mul(x, x);
    auto p = hn::MulAdd(s, constant(d, -0x1.df9cbbaba4a74p-12), constant(d, 0x1.53c4d14fab315p-9));
    p = hn::MulAdd(p, s, constant(d, -0x1.0f562d2c47bf0p-7));
    p = hn::MulAdd(p, s, constant(d, 0x1.63230a1aa8ed5p-6));
    p = hn::MulAdd(p, s, constant(d, -0x1.b9d39d92392aep-5));
    p = hn::MulAdd(p, s, constant(d, 0x1.110f9da141b03p-3));
    p = hn::MulAdd(p, s, constant(d, -0x1.555550dffd139p-2));
    // Denormals and zeros are returned unchanged, because x^2 underflows to 0.
    const auto inner = hn::MulAdd(hn::Mul(p, s), x, x);
    return keep_nan(d, x,
                    hn::IfThenElse(hn::Gt(t, constant(d, 0.89)), hn::CopySign(outer, x), inner));
  }
};

/// Sine and cosine. Highway reduces the argument in a few steps, which is only accurate up to
/// kTrigonometricBound. Vectors with larger or non-finite lanes use the C library.
inline constexpr double kTrigonometricBound = 30000.0;

struct Sin {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    const auto small = hn::Le(hn::Abs(x), constant(d, kTrigonometricBound));
    const auto y = hn::Sin(d, hn::IfThenElseZero(small, x));
    if (HWY_LIKELY(hn::AllTrue(d, small))) return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y);
    const auto slow = per_lane(d, x, ::sin);
    return hn::IfThenElse(small, hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y), slow);
  }
};

struct Cos {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    const auto small = hn::Le(hn::Abs(x), constant(d, kTrigonometricBound));
    const auto y = hn::Cos(d, hn::IfThenElseZero(small, x));
    if (HWY_LIKELY(hn::AllTrue(d, small))) return y;
    return hn::IfThenElse(small, y, per_lane(d, x, ::cos));
  }
};

// The error function. For floats, it uses minimax polynomials (N. Juffa, "Optimized version of
// erff()"): a polynomial in x^2 near 0, and erfc(t) = exp(p(t)) elsewhere. For doubles, which are
// only used in gradient checks, it calls the C library.

/// Returns the polynomial p(t) with erfc(t) ~ exp(p(t)) for floats t > 0.92.
template <class D>
HWY_INLINE hn::Vec<D> log_erfc_polynomial(D d, hn::Vec<D> t) {
  const auto s = hn::Mul(t, t);
  auto r = hn::MulAdd(constant(d, -0x1.220000p-16), t, constant(d, 0x1.91cfb2p-12));
  const auto u = hn::MulAdd(constant(d, -0x1.fd1438p-9), t, constant(d, 0x1.8d6342p-6));
  r = hn::MulAdd(r, s, u);
  r = hn::MulAdd(r, t, constant(d, -0x1.b55cb8p-4));
  r = hn::MulAdd(r, t, constant(d, -0x1.450aa0p-1));
  r = hn::MulAdd(r, t, constant(d, -0x1.079d0cp-3));
  return hn::MulSub(r, t, t);
}
/// Returns erf(x) for floats with |x| <= 0.92.
template <class D>
HWY_INLINE hn::Vec<D> small_erf_polynomial(D d, hn::Vec<D> x) {
  const auto s = hn::Mul(x, x);
  auto r = hn::MulAdd(constant(d, -0x1.38e000p-11), s, constant(d, 0x1.471a58p-8));
  r = hn::MulAdd(r, s, constant(d, -0x1.b691b2p-6));
  r = hn::MulAdd(r, s, constant(d, 0x1.ce1c44p-4));
  r = hn::MulAdd(r, s, constant(d, -0x1.812700p-2));
  r = hn::MulAdd(r, s, constant(d, 0x1.06eba8p-3));
  return hn::MulAdd(r, x, x);
}
inline constexpr double kSmallErf = 0.927734375;

struct Erf {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    if constexpr (sizeof(hn::TFromD<D>) == 8) return per_lane(d, x, ::erf);
    // erf is 1 for t >= 4; the polynomial decreases up to t = 10.
    const auto t = hn::Min(hn::Abs(x), constant(d, 10.0));
    const auto tail = hn::Sub(constant(d, 1.0), hn::Exp(d, log_erfc_polynomial(d, t)));
    const auto y = hn::IfThenElse(hn::Gt(t, constant(d, kSmallErf)), hn::CopySign(tail, x),
                                  small_erf_polynomial(d, x));
    return keep_nan(d, x, hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y));
  }
};
/// Returns the cumulative distribution function of the standard normal distribution, or any number
/// if x is NaN. Negative x need no subtraction, which would cancel digits. For floats, the
/// function at -t is 2^q(t), where q(t) = t r(t) - 1 and r is a minimax polynomial. The error is at
/// most 8e-8; the relative error is below 5e-6 for x > -6.
struct NormalCdf {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    if constexpr (sizeof(hn::TFromD<D>) == 8) {
      return hn::Mul(constant(d, 0.5),
                     per_lane(d, hn::Mul(x, constant(d, -0.70710678118654752440)), ::erfc));
    } else {
      // The result for -14.2 is 0.
      const auto t = hn::Min(hn::Abs(x), constant(d, 14.2));
      const auto r = polynomial(d, t, kLogarithm);
      // Adding 1.5 * 2^23 rounds q to an integer, which then occupies the lowest bits of the sum.
      const auto one = constant(d, 1.0), shift = constant(d, 0x1.8p23);
      const auto shifted = hn::Add(hn::MulSub(r, t, one), shift);
      const auto fraction = hn::MulSub(r, t, hn::Add(hn::Sub(shifted, shift), one));
      // The power is 2^64 times too large, so that it is rounded only once if it underflows.
      const auto power = polynomial(d, fraction, kPower);
      const hn::RebindToSigned<D> di;
      const auto bits =
          hn::Add(hn::BitCast(di, power), hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
      const auto tail = hn::Mul(hn::BitCast(d, bits), constant(d, 0x1p-64));
      return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(one, tail));
    }
  }

 private:
  // r(t) = (log2(cdf(-t)) + 1) / t, and 2^64 2^f for f in [-0.5, 0.5], from the highest power on.
  static constexpr float kLogarithm[] = {
      0x1.5980a0p-39f,  -0x1.a1ccf4p-33f, 0x1.bec6fep-28f,  -0x1.169cacp-23f, 0x1.c12fa2p-20f,
      -0x1.e74322p-17f, 0x1.5fbbe2p-14f,  -0x1.2579b8p-12f, -0x1.0e3218p-15f, 0x1.cb9360p-8f,
      -0x1.ae0e8ep-5f,  -0x1.d638a8p-2f,  -0x1.26aeecp+0f};
  static constexpr float kPower[] = {0x1.41fbbcp51f, 0x1.5f3e54p54f, 0x1.3b2d4cp57f, 0x1.c6aee8p59f,
                                     0x1.ebfbdcp61f, 0x1.62e430p63f, 0x1p64f};

  template <class D, size_t kCount>
  static HWY_INLINE hn::Vec<D> polynomial(D d, hn::Vec<D> x, const float (&c)[kCount]) {
    auto y = hn::Set(d, c[0]);
#pragma GCC unroll 16
    for (size_t i = 1; i < kCount; ++i) y = hn::MulAdd(y, x, hn::Set(d, c[i]));
    return y;
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard

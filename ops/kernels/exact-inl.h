// Exact operations on vectors of f32 and f64, used by the row kernels of single ops and by chains
// of several ops. integer() is the same operation on one integer. It computes in the unsigned type
// U (at least 32 bits wide), so that integers wrap around. Included once per SIMD target; all
// definitions are in weft::HWY_NAMESPACE.
#if defined(WEFT_OPS_KERNELS_EXACT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_OPS_KERNELS_EXACT_INL_H_
#undef WEFT_OPS_KERNELS_EXACT_INL_H_
#else
#define WEFT_OPS_KERNELS_EXACT_INL_H_
#endif

#include "weft/ops/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {

/// Return the larger or the smaller operand, or `b` if an operand is NaN or both operands are zeros
/// of any sign. x86 instructions have the same semantics, so handling NaN costs nothing there.
template <class D>
HWY_INLINE hn::Vec<D> max_or_second(D d, hn::Vec<D> a, hn::Vec<D> b) {
#if HWY_ARCH_X86
  (void)d;
  return hn::Max(a, b);
#else
  return hn::IfThenElse(hn::Gt(a, b), a, b);
#endif
}
template <class D>
HWY_INLINE hn::Vec<D> min_or_second(D d, hn::Vec<D> a, hn::Vec<D> b) {
#if HWY_ARCH_X86
  (void)d;
  return hn::Min(a, b);
#else
  return hn::IfThenElse(hn::Lt(a, b), a, b);
#endif
}

// -- One operand ---------------------------------------------------------------------------------

struct Neg {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> x) const {
    return hn::Neg(x);
  }
  template <class U, class T>
  static HWY_INLINE T integer(T x) {
    return static_cast<T>(U(0) - static_cast<U>(x));
  }
};
struct Abs {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> x) const {
    return hn::Abs(x);
  }
  template <class U, class T>
  static HWY_INLINE T integer(T x) {
    const U u = static_cast<U>(x);
    return static_cast<T>(x < T(0) ? U(0) - u : u);
  }
};
/// The sign function. NaN remains NaN; zeros keep their sign.
struct Sign {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    const auto one = hn::CopySign(constant(d, 1.0), x);
    return keep_nan(d, x, hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, one));
  }
  template <class U, class T>
  static HWY_INLINE T integer(T x) {
    return static_cast<T>((x > T(0)) - (x < T(0)));
  }
};
struct Square {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> x) const {
    return hn::Mul(x, x);
  }
  template <class U, class T>
  static HWY_INLINE T integer(T x) {
    const U u = static_cast<U>(x);
    return static_cast<T>(u * u);
  }
};
struct Sqrt {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> x) const {
    return hn::Sqrt(x);
  }
};
struct Rsqrt {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return hn::Div(constant(d, 1.0), hn::Sqrt(x));
  }
};
struct Reciprocal {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return hn::Div(constant(d, 1.0), x);
  }
};
// CopySign preserves the sign of results that are 0, which Highway's implementation for SSSE3
// loses. For example, -0.25 is rounded to -0.
struct Floor {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return keep_nan(d, x, hn::CopySign(hn::Floor(x), x));
  }
};
struct Ceil {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return keep_nan(d, x, hn::CopySign(hn::Ceil(x), x));
  }
};
struct Round {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return keep_nan(d, x, hn::CopySign(hn::Round(x), x));
  }
};
/// max(x, 0). NaN and -0 are unchanged.
struct Relu {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return max_or_second(d, hn::Zero(d), x);
  }
};
struct Clamp {
  double lo, hi;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return min_or_second(d, constant(d, hi), max_or_second(d, constant(d, lo), x));
  }
};

// -- Two operands --------------------------------------------------------------------------------

struct Add {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> a, hn::Vec<D> b) const {
    return hn::Add(a, b);
  }
  template <class U, class T>
  static HWY_INLINE T integer(T a, T b) {
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  }
};
struct Sub {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> a, hn::Vec<D> b) const {
    return hn::Sub(a, b);
  }
  template <class U, class T>
  static HWY_INLINE T integer(T a, T b) {
    return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
  }
};
struct Mul {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> a, hn::Vec<D> b) const {
    return hn::Mul(a, b);
  }
  template <class U, class T>
  static HWY_INLINE T integer(T a, T b) {
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  }
};
struct Div {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> a, hn::Vec<D> b) const {
    return hn::Div(a, b);
  }
  template <class U, class T>
  static HWY_INLINE T integer(T a, T b) {
    if (b == T(0)) return T(0);  // the kernel's data check rejects this case
    if (T(-1) < T(0) && b == T(-1)) return static_cast<T>(U(0) - static_cast<U>(a));
    return static_cast<T>(a / b);
  }
};
/// Returns NaN if an operand is NaN. If both operands are NaN, returns the first operand.
struct Maximum {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> a, hn::Vec<D> b) const {
    return keep_nan(d, a, max_or_second(d, a, b));
  }
  template <class U, class T>
  static HWY_INLINE T integer(T a, T b) {
    return a > b ? a : b;
  }
};
struct Minimum {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> a, hn::Vec<D> b) const {
    return keep_nan(d, a, min_or_second(d, a, b));
  }
  template <class U, class T>
  static HWY_INLINE T integer(T a, T b) {
    return a < b ? a : b;
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard

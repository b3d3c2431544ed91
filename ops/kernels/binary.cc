#include "weft/ops/kernels/binary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/binary.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

using kernels::BinaryOp;
using kernels::RowOperand;

struct Add {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> a, hn::Vec<D> b) const {
    return hn::Add(a, b);
  }
};
struct Sub {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> a, hn::Vec<D> b) const {
    return hn::Sub(a, b);
  }
};
struct Mul {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> a, hn::Vec<D> b) const {
    return hn::Mul(a, b);
  }
};
struct Div {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> a, hn::Vec<D> b) const {
    return hn::Div(a, b);
  }
};
/// A NaN operand wins: what the instructions return for one differs between CPUs.
struct Maximum {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> a, hn::Vec<D> b) const {
    const auto m = hn::IfThenElse(hn::IsNaN(b), b, hn::Max(a, b));
    return hn::IfThenElse(hn::IsNaN(a), a, m);
  }
};
struct Minimum {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> a, hn::Vec<D> b) const {
    const auto m = hn::IfThenElse(hn::IsNaN(b), b, hn::Min(a, b));
    return hn::IfThenElse(hn::IsNaN(a), a, m);
  }
};

template <class Op, class T>
HWY_INLINE void float_row(const Op& op, RowOperand a, RowOperand b, T* out, int64_t n) {
  const T* pa = elements<T>(a.data);
  const T* pb = elements<T>(b.data);
  if (a.step == 0) {
    map_row2<true, false>(op, pa, pb, out, n);
  } else if (b.step == 0) {
    map_row2<false, true>(op, pa, pb, out, n);
  } else {
    map_row2<false, false>(op, pa, pb, out, n);
  }
}

/// Through double, so that floats are right to the last bit (but for rare ties).
template <class T>
void pow_row(RowOperand a, RowOperand b, T* out, int64_t n) {
  const T* pa = elements<T>(a.data);
  const T* pb = elements<T>(b.data);
  for (int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<T>(
        ::pow(static_cast<double>(pa[i * a.step]), static_cast<double>(pb[i * b.step])));
  }
}

template <class T>
void apply(BinaryOp op, RowOperand a, RowOperand b, T* out, int64_t n) {
  switch (op) {
    case BinaryOp::add: return float_row(Add(), a, b, out, n);
    case BinaryOp::sub: return float_row(Sub(), a, b, out, n);
    case BinaryOp::mul: return float_row(Mul(), a, b, out, n);
    case BinaryOp::div: return float_row(Div(), a, b, out, n);
    case BinaryOp::maximum: return float_row(Maximum(), a, b, out, n);
    case BinaryOp::minimum: return float_row(Minimum(), a, b, out, n);
    case BinaryOp::pow: return pow_row(a, b, out, n);
  }
}

// Integers: plain loops, which the compiler turns into vector code of this target. Arithmetic is
// done in the unsigned type U (at least 32 bits wide), where wrapping around is defined.

template <class T, class U>
struct IntegerOps {
  static T add(T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); }
  static T sub(T a, T b) { return static_cast<T>(static_cast<U>(a) - static_cast<U>(b)); }
  static T mul(T a, T b) { return static_cast<T>(static_cast<U>(a) * static_cast<U>(b)); }
  static T div(T a, T b) {
    if (b == T(0)) return T(0);  // the check of the kernel has refused it
    if (T(-1) < T(0) && b == T(-1)) return static_cast<T>(U(0) - static_cast<U>(a));
    return static_cast<T>(a / b);
  }
  static T maximum(T a, T b) { return a > b ? a : b; }
  static T minimum(T a, T b) { return a < b ? a : b; }
  static T pow(T base, T exponent) {
    U result = 1, factor = static_cast<U>(base);
    for (U e = static_cast<U>(exponent); e != 0; e >>= 1) {
      if (e & 1) result *= factor;
      factor *= factor;
    }
    return static_cast<T>(result);
  }
};

template <class T, T (*op)(T, T)>
void integer_loop(RowOperand a, RowOperand b, T* out, int64_t n) {
  const T* pa = elements<T>(a.data);
  const T* pb = elements<T>(b.data);
  if (n == 0) return;
  if (a.step == 0) {
    const T first = pa[0];
    for (int64_t i = 0; i < n; ++i) out[i] = op(first, pb[i]);
  } else if (b.step == 0) {
    const T second = pb[0];
    for (int64_t i = 0; i < n; ++i) out[i] = op(pa[i], second);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = op(pa[i], pb[i]);
  }
}

template <class T, class U>
void apply_integer(BinaryOp op, RowOperand a, RowOperand b, T* out, int64_t n) {
  using Ops = IntegerOps<T, U>;
  switch (op) {
    case BinaryOp::add: return integer_loop<T, Ops::add>(a, b, out, n);
    case BinaryOp::sub: return integer_loop<T, Ops::sub>(a, b, out, n);
    case BinaryOp::mul: return integer_loop<T, Ops::mul>(a, b, out, n);
    case BinaryOp::div: return integer_loop<T, Ops::div>(a, b, out, n);
    case BinaryOp::maximum: return integer_loop<T, Ops::maximum>(a, b, out, n);
    case BinaryOp::minimum: return integer_loop<T, Ops::minimum>(a, b, out, n);
    case BinaryOp::pow: return integer_loop<T, Ops::pow>(a, b, out, n);
  }
}

}  // namespace

void BinaryRow(BinaryOp op, DType dtype, RowOperand a, RowOperand b, void* out, int64_t n) {
  switch (dtype) {
    case DType::f32: return apply(op, a, b, elements<float>(out), n);
    case DType::f64: return apply(op, a, b, elements<double>(out), n);
    case DType::i64: return apply_integer<int64_t, uint64_t>(op, a, b, elements<int64_t>(out), n);
    case DType::i32: return apply_integer<int32_t, uint32_t>(op, a, b, elements<int32_t>(out), n);
    case DType::i8: return apply_integer<int8_t, uint32_t>(op, a, b, elements<int8_t>(out), n);
    case DType::u8: return apply_integer<uint8_t, uint32_t>(op, a, b, elements<uint8_t>(out), n);
    default: return;  // the shape rule admits no other dtype
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
HWY_EXPORT(BinaryRow);
namespace kernels {

void binary_row(BinaryOp op, DType dtype, RowOperand a, RowOperand b, void* out, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(BinaryRow)(op, dtype, a, b, out, n);
}

}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE

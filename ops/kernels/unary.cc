#include "weft/ops/kernels/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/unary.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

using kernels::UnaryOp;

struct Neg {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> x) const {
    return hn::Neg(x);
  }
};
struct Abs {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> x) const {
    return hn::Abs(x);
  }
};
/// NaN stays NaN, zeros keep their sign.
struct Sign {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    const auto one = hn::CopySign(constant(d, 1.0), x);
    return keep_nan(d, x, hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, one));
  }
};
struct Square {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> x) const {
    return hn::Mul(x, x);
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
// Roundings towards 0 keep the sign, which Highway's own code for SSSE3 loses: -0.25 gives -0.
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
/// Not max(x, 0): NaN must stay.
struct Relu {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
  }
};
struct Clamp {
  double lo, hi;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return keep_nan(d, x, hn::Min(hn::Max(x, constant(d, lo)), constant(d, hi)));
  }
};

template <class T>
void float_row(UnaryOp op, const T* in, T* out, int64_t n) {
  switch (op) {
    case UnaryOp::neg: return map_row(Neg(), in, out, n);
    case UnaryOp::abs: return map_row(Abs(), in, out, n);
    case UnaryOp::sign: return map_row(Sign(), in, out, n);
    case UnaryOp::square: return map_row(Square(), in, out, n);
    case UnaryOp::sqrt: return map_row(Sqrt(), in, out, n);
    case UnaryOp::rsqrt: return map_row(Rsqrt(), in, out, n);
    case UnaryOp::reciprocal: return map_row(Reciprocal(), in, out, n);
    case UnaryOp::floor: return map_row(Floor(), in, out, n);
    case UnaryOp::ceil: return map_row(Ceil(), in, out, n);
    case UnaryOp::round: return map_row(Round(), in, out, n);
    case UnaryOp::relu: return map_row(Relu(), in, out, n);
  }
}

/// Integers wrap around; plain loops, which the compiler turns into vector code of this target.
template <class T, class U>
void integer_row(UnaryOp op, const T* in, T* out, int64_t n) {
  switch (op) {
    case UnaryOp::neg:
      for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(U(0) - static_cast<U>(in[i]));
      return;
    case UnaryOp::abs:
      for (int64_t i = 0; i < n; ++i) {
        const U u = static_cast<U>(in[i]);
        out[i] = static_cast<T>(in[i] < T(0) ? U(0) - u : u);
      }
      return;
    case UnaryOp::sign:
      for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>((in[i] > T(0)) - (in[i] < T(0)));
      return;
    case UnaryOp::square:
      for (int64_t i = 0; i < n; ++i) {
        const U u = static_cast<U>(in[i]);
        out[i] = static_cast<T>(u * u);
      }
      return;
    default: return;  // the shape rule admits no other op for integers
  }
}

template <class T>
void finite_row(const T* in, uint8_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = in[i] - in[i] == T(0);  // inf - inf and NaN - NaN are NaN
}

template <class T>
void clamp_integers(T lo, T hi, const T* in, T* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const T x = in[i] < lo ? lo : in[i];
    out[i] = x > hi ? hi : x;
  }
}

}  // namespace

void UnaryRow(UnaryOp op, DType dtype, const void* in, void* out, int64_t n) {
  switch (dtype) {
    case DType::f32: return float_row(op, elements<float>(in), elements<float>(out), n);
    case DType::f64: return float_row(op, elements<double>(in), elements<double>(out), n);
    case DType::i64:
      return integer_row<int64_t, uint64_t>(op, elements<int64_t>(in), elements<int64_t>(out), n);
    case DType::i32:
      return integer_row<int32_t, uint32_t>(op, elements<int32_t>(in), elements<int32_t>(out), n);
    case DType::i8:
      return integer_row<int8_t, uint32_t>(op, elements<int8_t>(in), elements<int8_t>(out), n);
    case DType::u8:
      return integer_row<uint8_t, uint32_t>(op, elements<uint8_t>(in), elements<uint8_t>(out), n);
    default: return;
  }
}

void ClampFloatRow(DType dtype, double lo, double hi, const void* in, void* out, int64_t n) {
  if (dtype == DType::f32) {
    map_row(Clamp{lo, hi}, elements<float>(in), elements<float>(out), n);
  } else {
    map_row(Clamp{lo, hi}, elements<double>(in), elements<double>(out), n);
  }
}

void ClampIntegerRow(DType dtype, int64_t lo, int64_t hi, const void* in, void* out, int64_t n) {
  switch (dtype) {
    case DType::i64:
      return clamp_integers(lo, hi, elements<int64_t>(in), elements<int64_t>(out), n);
    case DType::i32:
      return clamp_integers(static_cast<int32_t>(lo), static_cast<int32_t>(hi),
                            elements<int32_t>(in), elements<int32_t>(out), n);
    case DType::i8:
      return clamp_integers(static_cast<int8_t>(lo), static_cast<int8_t>(hi), elements<int8_t>(in),
                            elements<int8_t>(out), n);
    case DType::u8:
      return clamp_integers(static_cast<uint8_t>(lo), static_cast<uint8_t>(hi),
                            elements<uint8_t>(in), elements<uint8_t>(out), n);
    default: return;
  }
}

void IsFiniteRow(DType dtype, const void* in, uint8_t* out, int64_t n) {
  if (dtype == DType::f32) {
    finite_row(elements<float>(in), out, n);
  } else {
    finite_row(elements<double>(in), out, n);
  }
}

void NotRow(const uint8_t* in, uint8_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = in[i] == 0;
}

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
HWY_EXPORT(UnaryRow);
HWY_EXPORT(ClampFloatRow);
HWY_EXPORT(ClampIntegerRow);
HWY_EXPORT(IsFiniteRow);
HWY_EXPORT(NotRow);
namespace kernels {
namespace {

struct IntegerRange {
  std::int64_t low, high;
};

IntegerRange integer_range(DType dtype) {
  switch (dtype) {
    case DType::i32: return {INT32_MIN, INT32_MAX};
    case DType::i8: return {INT8_MIN, INT8_MAX};
    case DType::u8: return {0, UINT8_MAX};
    default: return {INT64_MIN, INT64_MAX};
  }
}

/// A whole (or infinite) bound as an integer of the range.
std::int64_t integer_bound(double bound, IntegerRange range) {
  if (bound <= static_cast<double>(range.low)) return range.low;
  if (bound >= static_cast<double>(range.high)) return range.high;
  return static_cast<std::int64_t>(bound);
}

}  // namespace

void unary_row(UnaryOp op, DType dtype, const void* in, void* out, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(UnaryRow)(op, dtype, in, out, n);
}

void clamp_row(DType dtype, double lo, double hi, const void* in, void* out, std::int64_t n) {
  if (is_floating(dtype)) {
    HWY_DYNAMIC_DISPATCH(ClampFloatRow)(dtype, lo, hi, in, out, n);
    return;
  }
  const IntegerRange range = integer_range(dtype);
  const std::int64_t low = integer_bound(::ceil(lo), range),
                     high = integer_bound(::floor(hi), range);
  HWY_DYNAMIC_DISPATCH(ClampIntegerRow)(dtype, low, high, in, out, n);
}

void isfinite_row(DType dtype, const void* in, void* out, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(IsFiniteRow)(dtype, in, static_cast<std::uint8_t*>(out), n);
}

void logical_not_row(const void* in, void* out, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(NotRow)
  (static_cast<const std::uint8_t*>(in), static_cast<std::uint8_t*>(out), n);
}

}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE

#include "weft/ops/kernels/elementwise/unary.h"

#include "weft/core/integer_range.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/elementwise/unary.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/exact-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

using kernels::UnaryOp;

template <class T>
RowKernel::Function float_row(UnaryOp op) {
  switch (op) {
    case UnaryOp::neg: return map_rows<Neg, T>;
    case UnaryOp::abs: return map_rows<Abs, T>;
    case UnaryOp::sign: return map_rows<Sign, T>;
    case UnaryOp::square: return map_rows<Square, T>;
    case UnaryOp::sqrt: return map_rows<Sqrt, T>;
    case UnaryOp::rsqrt: return map_rows<Rsqrt, T>;
    case UnaryOp::reciprocal: return map_rows<Reciprocal, T>;
    case UnaryOp::floor: return map_rows<Floor, T>;
    case UnaryOp::ceil: return map_rows<Ceil, T>;
    case UnaryOp::round: return map_rows<Round, T>;
    case UnaryOp::relu: return map_rows<Relu, T>;
  }
  return nullptr;
}

// Integer kernels are plain loops, which the compiler vectorises for this target. Integers wrap
// around, because arithmetic is done in the unsigned type U (at least 32 bits wide).

template <class T, class U>
struct IntegerOps {
  static HWY_INLINE T neg(T x) { return static_cast<T>(U(0) - static_cast<U>(x)); }
  static HWY_INLINE T abs(T x) {
    const U u = static_cast<U>(x);
    return static_cast<T>(x < T(0) ? U(0) - u : u);
  }
  static HWY_INLINE T sign(T x) { return static_cast<T>((x > T(0)) - (x < T(0))); }
  static HWY_INLINE T square(T x) {
    const U u = static_cast<U>(x);
    return static_cast<T>(u * u);
  }
};

template <class T, T (*op)(T)>
void integer_rows(const RowKernel&, const void* const* in, void* out, int64_t n, int64_t) {
  const T* x = elements<T>(in[0]);
  T* y = elements<T>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = op(x[i]);
}

template <class T, class U>
RowKernel::Function integer_row(UnaryOp op) {
  using Ops = IntegerOps<T, U>;
  switch (op) {
    case UnaryOp::neg: return integer_rows<T, Ops::neg>;
    case UnaryOp::abs: return integer_rows<T, Ops::abs>;
    case UnaryOp::sign: return integer_rows<T, Ops::sign>;
    case UnaryOp::square: return integer_rows<T, Ops::square>;
    default: return nullptr;
  }
}

template <class T>
void finite_rows(const RowKernel&, const void* const* in, void* out, int64_t n, int64_t) {
  const T* x = elements<T>(in[0]);
  uint8_t* y = elements<uint8_t>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - x[i] == T(0);  // inf - inf and NaN - NaN are NaN
}

void not_rows(const RowKernel&, const void* const* in, void* out, int64_t n, int64_t) {
  const uint8_t* x = elements<uint8_t>(in[0]);
  uint8_t* y = elements<uint8_t>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] == 0;
}

template <class T>
void clamp_rows(const RowKernel& self, const void* const* in, void* out, int64_t n, int64_t) {
  map_row(Clamp{self.reals[0], self.reals[1]}, elements<T>(in[0]), elements<T>(out), n);
}

template <class T>
void clamp_integer_rows(const RowKernel& self, const void* const* in, void* out, int64_t n,
                        int64_t) {
  const T lo = static_cast<T>(self.integers[0]), hi = static_cast<T>(self.integers[1]);
  const T* from = elements<T>(in[0]);
  T* to = elements<T>(out);
  for (int64_t i = 0; i < n; ++i) {
    const T x = from[i] < lo ? lo : from[i];
    to[i] = x > hi ? hi : x;
  }
}

}  // namespace

RowKernel::Function UnaryRow(UnaryOp op, DType dtype) {
  switch (dtype) {
    case DType::f32: return float_row<float>(op);
    case DType::f64: return float_row<double>(op);
    case DType::i64: return integer_row<int64_t, uint64_t>(op);
    case DType::i32: return integer_row<int32_t, uint32_t>(op);
    case DType::i8: return integer_row<int8_t, uint32_t>(op);
    case DType::u8: return integer_row<uint8_t, uint32_t>(op);
    default: return nullptr;
  }
}

RowKernel::Function ClampRow(DType dtype) {
  switch (dtype) {
    case DType::f32: return clamp_rows<float>;
    case DType::f64: return clamp_rows<double>;
    case DType::i64: return clamp_integer_rows<int64_t>;
    case DType::i32: return clamp_integer_rows<int32_t>;
    case DType::i8: return clamp_integer_rows<int8_t>;
    case DType::u8: return clamp_integer_rows<uint8_t>;
    default: return nullptr;
  }
}

RowKernel::Function IsFiniteRow(DType dtype) {
  if (dtype == DType::f32) return finite_rows<float>;
  return dtype == DType::f64 ? finite_rows<double> : nullptr;
}

RowKernel::Function NotRow() { return not_rows; }

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
HWY_EXPORT(UnaryRow);
HWY_EXPORT(ClampRow);
HWY_EXPORT(IsFiniteRow);
HWY_EXPORT(NotRow);
namespace kernels {
RowKernel::Function unary_row(UnaryOp op, DType dtype) {
  return HWY_DYNAMIC_DISPATCH(UnaryRow)(op, dtype);
}

RowKernel clamp_row(DType dtype, double lo, double hi) {
  RowKernel kernel;
  kernel.function = HWY_DYNAMIC_DISPATCH(ClampRow)(dtype);
  if (is_floating(dtype)) {
    kernel.reals = {lo, hi};
  } else {
    // The shape rule has already checked that the range is not empty.
    const std::optional<IntegerRange> range = whole_numbers(lo, hi, dtype);
    kernel.integers = {range->low, range->high};
  }
  return kernel;
}

RowKernel::Function isfinite_row(DType dtype) { return HWY_DYNAMIC_DISPATCH(IsFiniteRow)(dtype); }

RowKernel::Function logical_not_row() { return HWY_DYNAMIC_DISPATCH(NotRow)(); }

}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE

#include "weft/ops/kernels/elementwise/binary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/elementwise/binary.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/exact-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

using kernels::BinaryOp;

/// Computes in double, so that float results are correctly rounded (except for rare ties).
template <class T>
void pow_rows(const RowKernel& self, const void* const* in, void* out, int64_t n, int64_t) {
  const T* a = elements<T>(in[0]);
  const T* b = elements<T>(in[1]);
  T* to = elements<T>(out);
  const int64_t step_a = self.scalar(0) ? 0 : 1, step_b = self.scalar(1) ? 0 : 1;
  for (int64_t i = 0; i < n; ++i) {
    to[i] = static_cast<T>(
        ::pow(static_cast<double>(a[i * step_a]), static_cast<double>(b[i * step_b])));
  }
}

template <class T>
RowKernel::Function float_row(BinaryOp op) {
  switch (op) {
    case BinaryOp::add: return map_rows2<Add, T>;
    case BinaryOp::sub: return map_rows2<Sub, T>;
    case BinaryOp::mul: return map_rows2<Mul, T>;
    case BinaryOp::div: return map_rows2<Div, T>;
    case BinaryOp::maximum: return map_rows2<Maximum, T>;
    case BinaryOp::minimum: return map_rows2<Minimum, T>;
    case BinaryOp::pow: return pow_rows<T>;
  }
  return nullptr;
}

// Integer kernels are plain loops, which the compiler vectorises for this target. Arithmetic is
// done in the unsigned type U (at least 32 bits wide), in which overflow is defined to wrap around.

template <class T, class U>
struct IntegerOps {
  static T add(T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); }
  static T sub(T a, T b) { return static_cast<T>(static_cast<U>(a) - static_cast<U>(b)); }
  static T mul(T a, T b) { return static_cast<T>(static_cast<U>(a) * static_cast<U>(b)); }
  static T div(T a, T b) {
    if (b == T(0)) return T(0);  // the kernel's data check rejects this case
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
void integer_rows(const RowKernel& self, const void* const* in, void* out, int64_t n, int64_t) {
  const T* a = elements<T>(in[0]);
  const T* b = elements<T>(in[1]);
  T* to = elements<T>(out);
  if (self.scalar(0)) {
    const T first = a[0];
    for (int64_t i = 0; i < n; ++i) to[i] = op(first, b[i]);
  } else if (self.scalar(1)) {
    const T second = b[0];
    for (int64_t i = 0; i < n; ++i) to[i] = op(a[i], second);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = op(a[i], b[i]);
  }
}

template <class T, class U>
RowKernel::Function integer_row(BinaryOp op) {
  using Ops = IntegerOps<T, U>;
  switch (op) {
    case BinaryOp::add: return integer_rows<T, Ops::add>;
    case BinaryOp::sub: return integer_rows<T, Ops::sub>;
    case BinaryOp::mul: return integer_rows<T, Ops::mul>;
    case BinaryOp::div: return integer_rows<T, Ops::div>;
    case BinaryOp::maximum: return integer_rows<T, Ops::maximum>;
    case BinaryOp::minimum: return integer_rows<T, Ops::minimum>;
    case BinaryOp::pow: return integer_rows<T, Ops::pow>;
  }
  return nullptr;
}

}  // namespace

RowKernel::Function BinaryRow(BinaryOp op, DType dtype) {
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

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
HWY_EXPORT(BinaryRow);
namespace kernels {

RowKernel::Function binary_row(BinaryOp op, DType dtype) {
  return HWY_DYNAMIC_DISPATCH(BinaryRow)(op, dtype);
}

}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE

#include "weft/ops/kernels/elementwise/binary.h"

#include <iterator>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/elementwise/binary.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/exact-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

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

struct Pow {
  template <class U, class T>
  static T integer(T base, T exponent) {
    U result = 1, factor = static_cast<U>(base);
    for (U e = static_cast<U>(exponent); e != 0; e >>= 1) {
      if (e & 1) result *= factor;
      factor *= factor;
    }
    return static_cast<T>(result);
  }
};

/// A plain loop, which the compiler vectorises for this target.
template <class Op, class T, class U>
void integer_rows(const RowKernel& self, const void* const* in, void* out, int64_t n, int64_t) {
  const T* a = elements<T>(in[0]);
  const T* b = elements<T>(in[1]);
  T* to = elements<T>(out);
  if (self.scalar(0)) {
    const T first = a[0];
    for (int64_t i = 0; i < n; ++i) to[i] = Op::template integer<U>(first, b[i]);
  } else if (self.scalar(1)) {
    const T second = b[0];
    for (int64_t i = 0; i < n; ++i) to[i] = Op::template integer<U>(a[i], second);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = Op::template integer<U>(a[i], b[i]);
  }
}

template <class Op>
RowKernel::Function integers(DType dtype) {
  switch (dtype) {
    case DType::i64: return integer_rows<Op, int64_t, uint64_t>;
    case DType::i32: return integer_rows<Op, int32_t, uint32_t>;
    case DType::i8: return integer_rows<Op, int8_t, uint32_t>;
    case DType::u8: return integer_rows<Op, uint8_t, uint32_t>;
    default: return nullptr;
  }
}

template <class Op>
RowKernel::Function number(DType dtype) {
  if (dtype == DType::f32) return map_rows2<Op, float>;
  return dtype == DType::f64 ? map_rows2<Op, double> : integers<Op>(dtype);
}

RowKernel::Function power(DType dtype) {
  if (dtype == DType::f32) return pow_rows<float>;
  return dtype == DType::f64 ? pow_rows<double> : integers<Pow>(dtype);
}

constexpr kernels::BinaryOp kOps[] = {
    {"add", "a + b; integers wrap around.", number<Add>, true},
    {"sub", "a - b; integers wrap around.", number<Sub>},
    {"mul", "a * b; integers wrap around.", number<Mul>, true},
    {"div", "a / b. Integer division truncates; a zero integer divisor is a data error.",
     number<Div>, false, -2, 0.5},
    {"pow", "a to the power of b; a negative integer exponent is a data error.", power, false, 0.5,
     -2, 25},
    {"maximum", "The larger of a and b; NaN if either is NaN. Equal operands share the gradient.",
     number<Maximum>, true},
    {"minimum", "The smaller of a and b; NaN if either is NaN. Equal operands share the gradient.",
     number<Minimum>, true},
};

}  // namespace

const kernels::BinaryOp* ArithmeticTable() { return kOps; }

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
HWY_EXPORT(ArithmeticTable);
namespace kernels {

std::span<const BinaryOp> arithmetic_ops() {
  return {HWY_DYNAMIC_DISPATCH(ArithmeticTable)(), std::size(HWY_NAMESPACE::kOps)};
}

RowKernel::Function binary_row(std::string_view op, DType dtype) {
  for (const BinaryOp& entry : arithmetic_ops()) {
    if (entry.name == op) return entry.row(dtype);
  }
  return nullptr;
}

}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE

#include "weft/ops/kernels/elementwise/unary.h"

#include <iterator>

#include "weft/core/integer_range.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/elementwise/unary.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/exact-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

// Approximate time per float on one core, in nanoseconds. kExactNs is limited by memory bandwidth.
constexpr double kExactNs = 0.3, kMathNs = 1.0;

// -- Formulas. Those that other kernels use, too, are in exact-inl.h and math-inl.h --------------

/// Returns 1 / (1 + e^-x), computed from e^-|x|, which cannot overflow.
struct Sigmoid {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    const auto one = constant(d, 1.0);
    const auto e = Exp()(d, hn::Neg(hn::Abs(x)));
    const auto sum = hn::Add(one, e);
    const auto y = hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), sum);
    // Correct the rounding error of the sum, which is up to one ULP of y. A linear approximation of
    // the reciprocal of the sum, which is in [1, 2], is accurate enough.
    const auto lost = hn::Sub(e, hn::Sub(sum, one));
    const auto share = hn::Mul(lost, hn::NegMulAdd(constant(d, 0.5), sum, constant(d, 1.457)));
    return hn::NegMulAdd(y, share, y);
  }
};

/// Returns log(1 + e^x), computed as max(x, 0) + log1p(e^-|x|).
struct Softplus {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    const auto positive = hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
    return hn::Add(positive, Log1p()(d, Exp()(d, hn::Neg(hn::Abs(x)))));
  }
};

/// Returns x * gate. For x = -inf, for which the gate is 0, the result is the limit -0 instead of
/// NaN.
template <class D>
HWY_INLINE hn::Vec<D> gated(D d, hn::Vec<D> x, hn::Vec<D> gate) {
  return hn::IfThenElse(hn::Eq(x, hn::Neg(infinity(d))), constant(d, -0.0), hn::Mul(x, gate));
}

struct GeluErf {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return gated(d, x, NormalCdf()(d, x));
  }
};
/// 0.5 x (1 + tanh(u)) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3). The form with sigmoid
/// avoids cancellation for negative x.
struct GeluTanh {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    const auto x2 = hn::Mul(x, x);
    const auto factor = hn::MulAdd(x2, constant(d, 2 * 0.79788456080286535588 * 0.044715),
                                   constant(d, 2 * 0.79788456080286535588));
    return gated(d, x, Sigmoid()(d, hn::Mul(x, factor)));
  }
};
struct Silu {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return gated(d, x, Sigmoid()(d, x));
  }
};
/// x * min(max(x + 3, 0), 6) / 6.
struct HardSwish {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    const auto gate = Clamp{0, 6}(d, hn::Add(x, constant(d, 3.0)));
    return gated(d, x, hn::Div(gate, constant(d, 6.0)));
  }
};

// -- Row kernels ---------------------------------------------------------------------------------

/// A row kernel for f32 and f64.
template <class Op>
RowKernel::Function floating(DType dtype) {
  if (dtype == DType::f32) return map_rows<Op, float>;
  return dtype == DType::f64 ? map_rows<Op, double> : nullptr;
}

/// A plain loop, which the compiler vectorises for this target.
template <class Op, class T, class U>
void integer_rows(const RowKernel&, const void* const* in, void* out, int64_t n, int64_t) {
  const T* x = elements<T>(in[0]);
  T* y = elements<T>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = Op::template integer<U>(x[i]);
}

/// A row kernel for f32, f64 and integers.
template <class Op>
RowKernel::Function number(DType dtype) {
  switch (dtype) {
    case DType::i64: return integer_rows<Op, int64_t, uint64_t>;
    case DType::i32: return integer_rows<Op, int32_t, uint32_t>;
    case DType::i8: return integer_rows<Op, int8_t, uint32_t>;
    case DType::u8: return integer_rows<Op, uint8_t, uint32_t>;
    default: return floating<Op>(dtype);
  }
}

constexpr kernels::UnaryOp kOps[] = {
    {"neg", "-x; integers wrap around.", number<Neg>, kExactNs},
    {"abs", "|x|; integers wrap around. The gradient at 0 is 0.", number<Abs>, kExactNs},
    {"square", "x * x; integers wrap around.", number<Square>, kExactNs},
    {"sign", "-1, 0 or 1; for floats, NaN remains NaN and zeros keep their sign.", number<Sign>,
     kExactNs, -2, 2, true},
    {"floor", "Largest integer that is not greater than x.", floating<Floor>, kExactNs, -2, 2,
     true},
    {"ceil", "Smallest integer that is not less than x.", floating<Ceil>, kExactNs, -2, 2, true},
    {"round", "Nearest integer, ties to even.", floating<Round>, kExactNs, -2, 2, true},
    {"sqrt", "Square root; NaN for negative x.", floating<Sqrt>, kExactNs, 0.5, 2.5},
    {"rsqrt", "1 / sqrt(x), with correctly rounded root and quotient.", floating<Rsqrt>, kExactNs,
     0.5, 2.5},
    {"reciprocal", "1 / x.", floating<Reciprocal>, kExactNs, 0.5, 2.5},
    {"relu", "max(x, 0); NaN remains NaN. The gradient at 0 is 0.", floating<Relu>, kExactNs},
    {"exp", "e^x.", floating<Exp>, kMathNs},
    {"log", "Natural logarithm; -inf at 0, NaN for negative x.", floating<Log>, kMathNs, 0.5, 2.5},
    {"log1p", "log(1 + x), accurate near 0.", floating<Log1p>, kMathNs, -0.5, 2},
    {"expm1", "e^x - 1, accurate near 0.", floating<Expm1>, kMathNs},
    {"sin", "Sine of x in radians.", floating<Sin>, kMathNs},
    {"cos", "Cosine of x in radians.", floating<Cos>, kMathNs},
    {"tanh", "Hyperbolic tangent.", floating<Tanh>, kMathNs},
    {"erf", "Error function, 2/sqrt(pi) * integral of exp(-t^2) from 0 to x.", floating<Erf>,
     kMathNs},
    {"sigmoid", "1 / (1 + exp(-x)).", floating<Sigmoid>, kMathNs},
    {"gelu_erf",
     "x * Phi(x) with the normal distribution function Phi (Hendrycks and Gimpel 2016).",
     floating<GeluErf>, kMathNs},
    {"gelu_tanh", "0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).", floating<GeluTanh>, kMathNs},
    {"silu", "x * sigmoid(x).", floating<Silu>, kMathNs},
    {"hardswish", "x * min(max(x + 3, 0), 6) / 6 (Howard et al. 2019).", floating<HardSwish>,
     kExactNs, -5, 5},
    {"softplus", "log(1 + exp(x)), without overflow.", floating<Softplus>, kMathNs},
};

// -- Ops with attributes or another result type --------------------------------------------------

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

const kernels::UnaryOp* UnaryTable() { return kOps; }

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
HWY_EXPORT(UnaryTable);
HWY_EXPORT(ClampRow);
HWY_EXPORT(IsFiniteRow);
HWY_EXPORT(NotRow);
namespace kernels {

std::span<const UnaryOp> unary_ops() {
  return {HWY_DYNAMIC_DISPATCH(UnaryTable)(), std::size(HWY_NAMESPACE::kOps)};
}

RowKernel::Function unary_row(std::string_view op, DType dtype) {
  for (const UnaryOp& entry : unary_ops()) {
    if (entry.name == op) return entry.row(dtype);
  }
  return nullptr;
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

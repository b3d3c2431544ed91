#include "weft/ops/kernels/math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/math.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

using kernels::MathOp;

struct Exp {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return vec_exp(d, x);
  }
};
struct Log {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return vec_log(d, x);
  }
};
struct Log1p {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return vec_log1p(d, x);
  }
};
struct Expm1 {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return vec_expm1(d, x);
  }
};
struct Sin {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return vec_sin(d, x);
  }
};
struct Cos {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return vec_cos(d, x);
  }
};
struct Tanh {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return vec_tanh(d, x);
  }
};
struct Erf {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return vec_erf(d, x);
  }
};

template <class T>
void apply(MathOp op, const T* in, T* out, int64_t n) {
  switch (op) {
    case MathOp::exp: return map_row(Exp(), in, out, n);
    case MathOp::log: return map_row(Log(), in, out, n);
    case MathOp::log1p: return map_row(Log1p(), in, out, n);
    case MathOp::expm1: return map_row(Expm1(), in, out, n);
    case MathOp::sin: return map_row(Sin(), in, out, n);
    case MathOp::cos: return map_row(Cos(), in, out, n);
    case MathOp::tanh: return map_row(Tanh(), in, out, n);
    case MathOp::erf: return map_row(Erf(), in, out, n);
  }
}

}  // namespace

void MathF32(MathOp op, const float* in, float* out, int64_t n) { apply(op, in, out, n); }
void MathF64(MathOp op, const double* in, double* out, int64_t n) { apply(op, in, out, n); }

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
HWY_EXPORT(MathF32);
HWY_EXPORT(MathF64);
namespace kernels {

void math_row(MathOp op, DType dtype, const void* in, void* out, std::int64_t n) {
  if (dtype == DType::f32) {
    HWY_DYNAMIC_DISPATCH(MathF32)(op, static_cast<const float*>(in), static_cast<float*>(out), n);
  } else {
    HWY_DYNAMIC_DISPATCH(MathF64)(op, static_cast<const double*>(in), static_cast<double*>(out), n);
  }
}

}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE

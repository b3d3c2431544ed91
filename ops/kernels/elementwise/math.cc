#include "weft/ops/kernels/elementwise/math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/elementwise/math.cc"
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
RowKernel::Function float_row(MathOp op) {
  switch (op) {
    case MathOp::exp: return map_rows<Exp, T>;
    case MathOp::log: return map_rows<Log, T>;
    case MathOp::log1p: return map_rows<Log1p, T>;
    case MathOp::expm1: return map_rows<Expm1, T>;
    case MathOp::sin: return map_rows<Sin, T>;
    case MathOp::cos: return map_rows<Cos, T>;
    case MathOp::tanh: return map_rows<Tanh, T>;
    case MathOp::erf: return map_rows<Erf, T>;
  }
  return nullptr;
}

}  // namespace

RowKernel::Function MathRow(MathOp op, DType dtype) {
  if (dtype == DType::f32) return float_row<float>(op);
  return dtype == DType::f64 ? float_row<double>(op) : nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
HWY_EXPORT(MathRow);
namespace kernels {

RowKernel::Function math_row(MathOp op, DType dtype) {
  return HWY_DYNAMIC_DISPATCH(MathRow)(op, dtype);
}

}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE

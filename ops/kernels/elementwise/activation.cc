#include "weft/ops/kernels/elementwise/math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/elementwise/activation.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

using kernels::ActivationOp;

struct Sigmoid {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return vec_sigmoid(d, x);
  }
};
struct GeluErf {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return gated(d, x, vec_normal_cdf(d, x));
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
    return gated(d, x, vec_sigmoid(d, hn::Mul(x, factor)));
  }
};
struct Silu {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return gated(d, x, vec_sigmoid(d, x));
  }
};
struct Softplus {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> x) const {
    return vec_softplus(d, x);
  }
};

template <class T>
RowKernel::Function float_row(ActivationOp op) {
  switch (op) {
    case ActivationOp::sigmoid: return map_rows<Sigmoid, T>;
    case ActivationOp::gelu_erf: return map_rows<GeluErf, T>;
    case ActivationOp::gelu_tanh: return map_rows<GeluTanh, T>;
    case ActivationOp::silu: return map_rows<Silu, T>;
    case ActivationOp::softplus: return map_rows<Softplus, T>;
  }
  return nullptr;
}

}  // namespace

RowKernel::Function ActivationRow(ActivationOp op, DType dtype) {
  if (dtype == DType::f32) return float_row<float>(op);
  return dtype == DType::f64 ? float_row<double>(op) : nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
HWY_EXPORT(ActivationRow);
namespace kernels {

RowKernel::Function activation_row(ActivationOp op, DType dtype) {
  return HWY_DYNAMIC_DISPATCH(ActivationRow)(op, dtype);
}

}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE

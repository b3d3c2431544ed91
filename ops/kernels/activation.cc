#include "weft/ops/kernels/math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/activation.cc"
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
/// 0.5 x (1 + tanh(u)) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3): keeps digits for
/// negative x.
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
void apply(ActivationOp op, const T* in, T* out, int64_t n) {
  switch (op) {
    case ActivationOp::sigmoid: return map_row(Sigmoid(), in, out, n);
    case ActivationOp::gelu_erf: return map_row(GeluErf(), in, out, n);
    case ActivationOp::gelu_tanh: return map_row(GeluTanh(), in, out, n);
    case ActivationOp::silu: return map_row(Silu(), in, out, n);
    case ActivationOp::softplus: return map_row(Softplus(), in, out, n);
  }
}

}  // namespace

void ActivationF32(ActivationOp op, const float* in, float* out, int64_t n) {
  apply(op, in, out, n);
}
void ActivationF64(ActivationOp op, const double* in, double* out, int64_t n) {
  apply(op, in, out, n);
}

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
HWY_EXPORT(ActivationF32);
HWY_EXPORT(ActivationF64);
namespace kernels {

void activation_row(ActivationOp op, DType dtype, const void* in, void* out, std::int64_t n) {
  if (dtype == DType::f32) {
    HWY_DYNAMIC_DISPATCH(ActivationF32)
    (op, static_cast<const float*>(in), static_cast<float*>(out), n);
  } else {
    HWY_DYNAMIC_DISPATCH(ActivationF64)
    (op, static_cast<const double*>(in), static_cast<double*>(out), n);
  }
}

}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE

// A kernel that uses only Highway. It is compiled once per SIMD target, and the best target for the
// CPU is selected at run time.
#include "weft/tests/testing_lib_test/signed_square.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/tests/testing_lib_test/signed_square.cc"  // this file
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace user {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void rows(const T* x, T* y, std::size_t n) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const auto formula = [](auto v) HWY_ATTR { return hn::Mul(v, hn::Abs(v)); };
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(formula(hn::LoadU(d, x + i)), d, y + i);
  // The remainder uses the same arithmetic: an element's bits must not depend on chunk boundaries.
  for (; i < n; ++i) hn::StoreU(formula(hn::LoadU(one, x + i)), one, y + i);
}
void floats(const float* x, float* y, std::size_t n) { rows(x, y, n); }
void doubles(const double* x, double* y, std::size_t n) { rows(x, y, n); }
const char* target() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace user
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace user {
HWY_EXPORT(floats);
HWY_EXPORT(doubles);
HWY_EXPORT(target);

void signed_square(const float* x, float* y, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(floats)(x, y, n);
}
void signed_square(const double* x, double* y, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(doubles)(x, y, n);
}
std::string signed_square_target() { return HWY_DYNAMIC_DISPATCH(target)(); }

}  // namespace user
#endif

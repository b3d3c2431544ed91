#include "weft/ops/kernels/linalg/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/linalg/vectors.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

using D = Full<double>;

// kVectors vectors of y stay in registers while all rows of x are added, with one load per
// multiply-add.
template <int kVectors>
HWY_INLINE void add_rows_tile(double* y, const double* x, int64_t stride, const double* factors,
                              int64_t count) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  hn::Vec<D> sums[kVectors];
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::LoadU(d, y + static_cast<size_t>(v) * lanes);
  for (int64_t k = 0; k < count; ++k) {
    const auto f = hn::Set(d, factors[k]);
    const double* row = x + k * stride;
    for (int v = 0; v < kVectors; ++v) {
      sums[v] = hn::MulAdd(f, hn::LoadU(d, row + static_cast<size_t>(v) * lanes), sums[v]);
    }
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, y + static_cast<size_t>(v) * lanes);
}

void add_rows_vectors(double* y, int64_t n, const double* x, int64_t stride, const double* factors,
                      int64_t count) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t j = 0;
  for (; j + 4 * lanes <= n; j += 4 * lanes) add_rows_tile<4>(y + j, x + j, stride, factors, count);
  for (; j + lanes <= n; j += lanes) add_rows_tile<1>(y + j, x + j, stride, factors, count);
  if (j == n) return;
  const auto rest = static_cast<size_t>(n - j);
  auto sum = load_part(d, y + j, rest);
  for (int64_t k = 0; k < count; ++k) {
    sum = hn::MulAdd(hn::Set(d, factors[k]), load_part(d, x + k * stride + j, rest), sum);
  }
  store_part(sum, d, y + j, rest);
}

double dot_vectors(const double* x, const double* y, int64_t n) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto a = hn::Zero(d), b = hn::Zero(d), c = hn::Zero(d), e = hn::Zero(d);
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), a);
    b = hn::MulAdd(hn::LoadU(d, x + i + lanes), hn::LoadU(d, y + i + lanes), b);
    c = hn::MulAdd(hn::LoadU(d, x + i + 2 * lanes), hn::LoadU(d, y + i + 2 * lanes), c);
    e = hn::MulAdd(hn::LoadU(d, x + i + 3 * lanes), hn::LoadU(d, y + i + 3 * lanes), e);
  }
  for (; i + lanes <= n; i += lanes) a = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), a);
  if (i < n) {
    const auto rest = static_cast<size_t>(n - i);
    b = hn::MulAdd(load_part(d, x + i, rest), load_part(d, y + i, rest), b);
  }
  return sum_lanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e)));
}

void rotate_vectors(double* x, double* y, int64_t n, double cosine, double sine) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto c = hn::Set(d, cosine), s = hn::Set(d, sine);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto a = hn::LoadU(d, x + i), b = hn::LoadU(d, y + i);
    hn::StoreU(hn::NegMulAdd(s, b, hn::Mul(c, a)), d, x + i);
    hn::StoreU(hn::MulAdd(s, a, hn::Mul(c, b)), d, y + i);
  }
  if (i == n) return;
  const auto rest = static_cast<size_t>(n - i);
  const auto a = load_part(d, x + i, rest), b = load_part(d, y + i, rest);
  store_part(hn::NegMulAdd(s, b, hn::Mul(c, a)), d, x + i, rest);
  store_part(hn::MulAdd(s, a, hn::Mul(c, b)), d, y + i, rest);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {
namespace {
HWY_EXPORT(add_rows_vectors);
HWY_EXPORT(dot_vectors);
HWY_EXPORT(rotate_vectors);
}  // namespace

void add_rows(double* y, std::int64_t n, const double* x, std::int64_t stride,
              const double* factors, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(add_rows_vectors)(y, n, x, stride, factors, count);
}

double dot(const double* x, const double* y, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(dot_vectors)(x, y, n);
}

void rotate(double* x, double* y, std::int64_t n, double c, double s) {
  HWY_DYNAMIC_DISPATCH(rotate_vectors)(x, y, n, c, s);
}

}  // namespace weft::kernels
#endif

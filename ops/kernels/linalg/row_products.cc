#include "weft/ops/kernels/linalg/row_products.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/linalg/row_products.cc"
#include "hwy/foreach_target.h"

#include "hwy/contrib/math/math-inl.h"
#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

using F = hn::CappedTag<float, kernels::kRowMultiple>;

// Processes kRows rows of b at a time, so that each vector of a is loaded only once for all of
// these rows.
template <int kRows>
HWY_INLINE void products_of(const float* a, const float* const* b, int64_t n, float* products) {
  const F d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<F> sums[kRows];
  for (int r = 0; r < kRows; ++r) sums[r] = hn::Zero(d);
  for (int64_t i = 0; i < n; i += lanes) {
    const auto x = hn::LoadU(d, a + i);
    for (int r = 0; r < kRows; ++r) sums[r] = hn::MulAdd(x, hn::LoadU(d, b[r] + i), sums[r]);
  }
  for (int r = 0; r < kRows; ++r) products[r] = sum_lanes(d, sums[r]);
}

void row_products_vectors(const float* const* a, int64_t m, const float* const* b, int64_t k,
                          int64_t n, float* products) {
  for (int64_t i = 0; i < m; ++i) {
    int64_t j = 0;
    for (; j + 6 <= k; j += 6) products_of<6>(a[i], b + j, n, products + i * k + j);
    for (; j + 2 <= k; j += 2) products_of<2>(a[i], b + j, n, products + i * k + j);
    if (j < k) products_of<1>(a[i], b + j, n, products + i * k + j);
  }
}

// kVectors vectors of y stay in registers while all rows of b are added.
template <int kVectors>
HWY_INLINE void add_sums_to(float* y, const float* factors, int64_t stride, const float* const* b,
                            int64_t k, int64_t at) {
  const F d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<F> sums[kVectors];
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::LoadU(d, y + at + v * lanes);
  for (int64_t j = 0; j < k; ++j) {
    const auto f = hn::Set(d, factors[j * stride]);
    for (int v = 0; v < kVectors; ++v)
      sums[v] = hn::MulAdd(f, hn::LoadU(d, b[j] + at + v * lanes), sums[v]);
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, y + at + v * lanes);
}

void add_row_sums_vectors(float* const* y, int64_t m, const float* factors, int64_t i_stride,
                          int64_t j_stride, const float* const* b, int64_t k, int64_t n) {
  const F d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < m; ++i) {
    const float* own = factors + i * i_stride;
    int64_t at = 0;
    for (; at + 4 * lanes <= n; at += 4 * lanes) add_sums_to<4>(y[i], own, j_stride, b, k, at);
    for (; at < n; at += lanes) add_sums_to<1>(y[i], own, j_stride, b, k, at);
  }
}

void logistic_steps_vectors(float* x, int64_t rows, int64_t columns, int64_t positives,
                            float rate) {
  const int64_t count = rows * columns;
  const F d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto one = hn::Set(d, 1.0f), minus = hn::Set(d, -rate);
  for (int64_t i = 0; i < count; i += lanes) {
    const auto left = static_cast<size_t>(HWY_MIN(lanes, count - i));
    // Below this bound, the exponential would overflow. The sigmoid is already negligible at the
    // bound.
    const auto v = hn::Max(load_part(d, x + i, left), hn::Set(d, -80.0f));
    store_part(hn::Div(minus, hn::Add(one, hn::Exp(d, hn::Neg(v)))), d, x + i, left);
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < positives; ++c) x[r * columns + c] += rate;
  }
}

void adagrad_row_vectors(float* x, float* squares, const float* g, int64_t n, float rate) {
  const F d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto r = hn::Set(d, rate);
  for (int64_t i = 0; i < n; i += lanes) {
    const auto gradient = hn::LoadU(d, g + i), square = hn::LoadU(d, squares + i);
    const auto step = hn::Div(hn::Mul(r, gradient), hn::Sqrt(square));
    hn::StoreU(hn::Sub(hn::LoadU(d, x + i), step), d, x + i);
    hn::StoreU(hn::MulAdd(gradient, gradient, square), d, squares + i);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {
namespace {
HWY_EXPORT(row_products_vectors);
HWY_EXPORT(add_row_sums_vectors);
HWY_EXPORT(logistic_steps_vectors);
HWY_EXPORT(adagrad_row_vectors);
}  // namespace

void row_products(const float* const* a, std::int64_t m, const float* const* b, std::int64_t k,
                  std::int64_t n, float* products) {
  HWY_DYNAMIC_DISPATCH(row_products_vectors)(a, m, b, k, n, products);
}

void add_row_sums(float* const* y, std::int64_t m, const float* factors, std::int64_t i_stride,
                  std::int64_t j_stride, const float* const* b, std::int64_t k, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(add_row_sums_vectors)(y, m, factors, i_stride, j_stride, b, k, n);
}

void logistic_steps(float* x, std::int64_t rows, std::int64_t columns, std::int64_t positives,
                    float rate) {
  HWY_DYNAMIC_DISPATCH(logistic_steps_vectors)(x, rows, columns, positives, rate);
}

void adagrad_row(float* x, float* squares, const float* g, std::int64_t n, float rate) {
  HWY_DYNAMIC_DISPATCH(adagrad_row_vectors)(x, squares, g, n, rate);
}

}  // namespace weft::kernels
#endif

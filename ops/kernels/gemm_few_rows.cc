#include "weft/ops/kernels/gemm_few_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/gemm_few_rows.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come before.
#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

using kernels::FewRowsTarget;
using kernels::MatrixView;

template <class T>
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Full<T>()));
constexpr bool kManyRegisters = HWY_TARGET == HWY_AVX3;

// kVectors vectors of columns from j on; lanes before `skip` are computed again and not written.
template <int kRows, int kVectors, class T>
void FewRowsColumns(int64_t k, const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, int64_t b_stride,
                    int64_t j, int64_t skip, const FewRowsTarget<T>& c) {
  const Full<T> d;
  using V = hn::Vec<Full<T>>;
  constexpr int lanes = kLanes<T>;
  V sum[kRows * kVectors];
#pragma GCC unroll 16
  for (int s = 0; s < kRows * kVectors; ++s) sum[s] = hn::Zero(d);
  for (int64_t p = 0; p < k; ++p) {
    const T* row = b + p * b_stride + j;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const V bv = hn::LoadU(d, row + v * lanes);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        sum[r * kVectors + v] = hn::MulAdd(hn::Set(d, a[r * k + p]), bv, sum[r * kVectors + v]);
      }
    }
  }
  HWY_ALIGN T values[kRows * kVectors * lanes];
#pragma GCC unroll 16
  for (int s = 0; s < kRows * kVectors; ++s) hn::Store(sum[s], d, values + s * lanes);
  for (int r = 0; r < kRows; ++r) {
    for (int64_t q = skip; q < kVectors * lanes; ++q) {
      c.put(r, j + q, values[r * kVectors * lanes + q]);
    }
  }
}

// B has contiguous rows: a sum of its rows, several vectors of columns at a time.
template <int kRows, class T>
void FewRowsOfRows(int64_t n, int64_t k, const T* a, const T* b, int64_t b_stride,
                   const FewRowsTarget<T>& c) {
  constexpr int lanes = kLanes<T>;
  constexpr int vectors = kRows == 1 ? 8 : kRows == 2 ? 4 : kManyRegisters ? 4 : 2;
  int64_t j = 0;
  for (; j + vectors * lanes <= n; j += vectors * lanes) {
    FewRowsColumns<kRows, vectors>(k, a, b, b_stride, j, 0, c);
  }
  for (; j + lanes <= n; j += lanes) FewRowsColumns<kRows, 1>(k, a, b, b_stride, j, 0, c);
  if (j < n && n >= lanes) {
    FewRowsColumns<kRows, 1>(k, a, b, b_stride, n - lanes, j - (n - lanes), c);
    return;
  }
  for (; j < n; ++j) {
    for (int r = 0; r < kRows; ++r) {
      T sum{0};
      for (int64_t p = 0; p < k; ++p) sum += a[r * k + p] * b[p * b_stride + j];
      c.put(r, j, sum);
    }
  }
}

// kColumns dot products per row, from column j on.
template <int kRows, int kColumns, class T>
void FewRowsDots(int64_t k, const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, int64_t b_stride,
                 int64_t j, const FewRowsTarget<T>& c) {
  const Full<T> d;
  using V = hn::Vec<Full<T>>;
  constexpr int lanes = kLanes<T>;
  V sum[kRows * kColumns];
#pragma GCC unroll 16
  for (int s = 0; s < kRows * kColumns; ++s) sum[s] = hn::Zero(d);
  int64_t p = 0;
  for (; p + lanes <= k; p += lanes) {
#pragma GCC unroll 4
    for (int q = 0; q < kColumns; ++q) {
      const V bv = hn::LoadU(d, b + (j + q) * b_stride + p);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        sum[r * kColumns + q] = hn::MulAdd(hn::LoadU(d, a + r * k + p), bv, sum[r * kColumns + q]);
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int q = 0; q < kColumns; ++q) {
      T total = hn::GetLane(hn::SumOfLanes(d, sum[r * kColumns + q]));
      for (int64_t t = p; t < k; ++t) total += a[r * k + t] * b[(j + q) * b_stride + t];
      c.put(r, j + q, total);
    }
  }
}

// B has contiguous columns: dot products.
template <int kRows, class T>
void FewRowsOfColumns(int64_t n, int64_t k, const T* a, const T* b, int64_t b_stride,
                      const FewRowsTarget<T>& c) {
  constexpr int columns = kRows <= 2 || kManyRegisters ? 4 : 2;
  int64_t j = 0;
  for (; j + columns <= n; j += columns) FewRowsDots<kRows, columns>(k, a, b, b_stride, j, c);
  for (; j < n; ++j) FewRowsDots<kRows, 1>(k, a, b, b_stride, j, c);
}

template <int kRows, class T>
void FewRowsGemm(int64_t n, int64_t k, const T* a, const MatrixView<T>& b,
                 const FewRowsTarget<T>& c) {
  if (b.column_stride == 1) {
    FewRowsOfRows<kRows>(n, k, a, b.data, b.row_stride, c);
  } else {
    FewRowsOfColumns<kRows>(n, k, a, b.data, b.column_stride, c);
  }
}

template <class T>
void FewRows(int64_t m, int64_t n, int64_t k, const MatrixView<T>& a, const MatrixView<T>& b,
             const FewRowsTarget<T>& c, T* scratch) {
  const T* rows = a.data;
  if (a.column_stride != 1 || (m > 1 && a.row_stride != k)) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t p = 0; p < k; ++p) {
        scratch[i * k + p] = a.data[i * a.row_stride + p * a.column_stride];
      }
    }
    rows = scratch;
  }
  switch (m) {
    case 1: return FewRowsGemm<1>(n, k, rows, b, c);
    case 2: return FewRowsGemm<2>(n, k, rows, b, c);
    case 3: return FewRowsGemm<3>(n, k, rows, b, c);
    default: return FewRowsGemm<4>(n, k, rows, b, c);
  }
}

void few_rows_f32(int64_t m, int64_t n, int64_t k, const MatrixView<float>& a,
                  const MatrixView<float>& b, const FewRowsTarget<float>& c, float* scratch) {
  FewRows(m, n, k, a, b, c, scratch);
}
void few_rows_f64(int64_t m, int64_t n, int64_t k, const MatrixView<double>& a,
                  const MatrixView<double>& b, const FewRowsTarget<double>& c, double* scratch) {
  FewRows(m, n, k, a, b, c, scratch);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {
HWY_EXPORT(few_rows_f32);
HWY_EXPORT(few_rows_f64);
}  // namespace

namespace kernels {
void few_rows(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView<float>& a,
              const MatrixView<float>& b, const FewRowsTarget<float>& c, std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(few_rows_f32)(m, n, k, a, b, c, reinterpret_cast<float*>(scratch));
}
void few_rows(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView<double>& a,
              const MatrixView<double>& b, const FewRowsTarget<double>& c, std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(few_rows_f64)(m, n, k, a, b, c, reinterpret_cast<double*>(scratch));
}
}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE

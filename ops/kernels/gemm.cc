#include "weft/ops/kernels/gemm.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/gemm.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must come before.
#include <hwy/highway.h>

#ifndef WEFT_OPS_KERNELS_GEMM_BLOCKING
#define WEFT_OPS_KERNELS_GEMM_BLOCKING
namespace weft::kernels {
namespace {

// The blocks of Goto and van de Geijn ("Anatomy of high-performance matrix multiplication", 2008).
// A packed B panel (256 x 32 floats) lives in the L1 cache, the packed blocks of A and B in L2. The
// depth is the same for all targets and types, because it decides the order of summation.
constexpr std::int64_t kBlockDepth = 256;
constexpr std::int64_t kBlockRows = 240;
constexpr std::int64_t kBlockColumns = 512;
// Bounds on the register blocks of all targets.
constexpr std::int64_t kMaxPanelRows = 12;
constexpr std::int64_t kMaxPanelColumns = 64;
// Up to so many rows (or columns) of C, packing the large operand costs more than it gains.
constexpr std::int64_t kFewRows = 4;

constexpr std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

// C with both strides: products with few columns are computed transposed.
template <class T>
struct Target {
  T* data;
  std::int64_t row_stride, column_stride;
  bool accumulate;

  void put(std::int64_t i, std::int64_t j, T value) const {
    T& c = data[i * row_stride + j * column_stride];
    c = accumulate ? c + value : value;
  }
};

}  // namespace
}  // namespace weft::kernels
#endif  // WEFT_OPS_KERNELS_GEMM_BLOCKING

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A register block is kPanelRows x two vectors: 24 sums of 32 registers, or 12 of 16.
#if HWY_TARGET == HWY_AVX3
constexpr int kPanelRows = 12;
#else
constexpr int kPanelRows = 6;
#endif
static_assert(kPanelRows <= kMaxPanelRows);

template <class T>
using Tag = hn::ScalableTag<T>;

template <class T>
constexpr int kPanelColumns = static_cast<int>(2 * hn::MaxLanes(Tag<T>()));

// -- Packing -------------------------------------------------------------------------------------

// out[p * panel + i] = in[i * stride + p] for a square of kSquare x kSquare: a transposition in
// 128-bit vectors.
#if HWY_TARGET != HWY_SCALAR
template <class T>
constexpr std::int64_t kSquare = static_cast<std::int64_t>(16 / sizeof(T));

HWY_INLINE void TransposeSquare(const float* HWY_RESTRICT in, std::int64_t stride,
                                std::int64_t panel, float* HWY_RESTRICT out) {
  const hn::FixedTag<float, 4> d;
  const auto r0 = hn::LoadU(d, in);
  const auto r1 = hn::LoadU(d, in + stride);
  const auto r2 = hn::LoadU(d, in + 2 * stride);
  const auto r3 = hn::LoadU(d, in + 3 * stride);
  const auto low01 = hn::InterleaveLower(d, r0, r1), high01 = hn::InterleaveUpper(d, r0, r1);
  const auto low23 = hn::InterleaveLower(d, r2, r3), high23 = hn::InterleaveUpper(d, r2, r3);
  hn::StoreU(hn::ConcatLowerLower(d, low23, low01), d, out);
  hn::StoreU(hn::ConcatUpperUpper(d, low23, low01), d, out + panel);
  hn::StoreU(hn::ConcatLowerLower(d, high23, high01), d, out + 2 * panel);
  hn::StoreU(hn::ConcatUpperUpper(d, high23, high01), d, out + 3 * panel);
}

HWY_INLINE void TransposeSquare(const double* HWY_RESTRICT in, std::int64_t stride,
                                std::int64_t panel, double* HWY_RESTRICT out) {
  const hn::FixedTag<double, 2> d;
  const auto r0 = hn::LoadU(d, in);
  const auto r1 = hn::LoadU(d, in + stride);
  hn::StoreU(hn::InterleaveLower(d, r0, r1), d, out);
  hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, out + panel);
}
#else
template <class T>
constexpr std::int64_t kSquare = 1;

template <class T>
HWY_INLINE void TransposeSquare(const T* in, std::int64_t, std::int64_t, T* out) {
  *out = *in;
}
#endif

// One panel: out[p * kPanel + i] = in[i * across_stride + p * depth_stride], zeros for i >= across.
template <int kPanel, class T>
void PackPanel(const T* HWY_RESTRICT in, std::int64_t across_stride, std::int64_t depth_stride,
               std::int64_t across, std::int64_t depth, T* HWY_RESTRICT out) {
  if (across < kPanel) std::fill_n(out, kPanel * depth, T{0});
  if (across_stride == 1) {
    if (across == kPanel) {
      for (std::int64_t p = 0; p < depth; ++p) {
        std::memcpy(out + p * kPanel, in + p * depth_stride, kPanel * sizeof(T));
      }
    } else {
      for (std::int64_t p = 0; p < depth; ++p) {
        std::copy_n(in + p * depth_stride, across, out + p * kPanel);
      }
    }
    return;
  }
  std::int64_t i = 0;
  if (depth_stride == 1) {
    constexpr std::int64_t square = kSquare<T>;
    for (; i + square <= across; i += square) {
      std::int64_t p = 0;
      for (; p + square <= depth; p += square) {
        TransposeSquare(in + i * across_stride + p, across_stride, kPanel, out + p * kPanel + i);
      }
      for (; p < depth; ++p) {
        for (std::int64_t q = i; q < i + square; ++q) {
          out[p * kPanel + q] = in[q * across_stride + p];
        }
      }
    }
  }
  for (; i < across; ++i) {
    for (std::int64_t p = 0; p < depth; ++p) {
      out[p * kPanel + i] = in[i * across_stride + p * depth_stride];
    }
  }
}

template <int kPanel, class T>
void PackPanels(const T* in, std::int64_t across_stride, std::int64_t depth_stride,
                std::int64_t across, std::int64_t depth, T* out) {
  for (std::int64_t i = 0; i < across; i += kPanel) {
    PackPanel<kPanel>(in + i * across_stride, across_stride, depth_stride,
                      std::min<std::int64_t>(kPanel, across - i), depth, out);
    out += kPanel * depth;
  }
}

// -- The micro-kernel ----------------------------------------------------------------------------

// kRows x kPanelColumns of C from one panel of A (of which kRows rows are used) and one of B.
template <int kRows, class T>
void MicroKernel(std::int64_t depth, const T* HWY_RESTRICT a, const T* HWY_RESTRICT b,
                 T* HWY_RESTRICT c, std::int64_t c_stride, std::int64_t rows, std::int64_t columns,
                 bool add) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr int lanes = kPanelColumns<T> / 2;
  V left[kRows], right[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) left[r] = right[r] = hn::Zero(d);
  for (std::int64_t p = 0; p < depth; ++p) {
    const V b0 = hn::Load(d, b), b1 = hn::Load(d, b + lanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const V ar = hn::Set(d, a[r]);
      left[r] = hn::MulAdd(ar, b0, left[r]);
      right[r] = hn::MulAdd(ar, b1, right[r]);
    }
    a += kPanelRows;
    b += kPanelColumns<T>;
  }
  if (rows == kRows && columns == kPanelColumns<T>) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      T* row = c + r * c_stride;
      if (add) {
        left[r] = hn::Add(hn::LoadU(d, row), left[r]);
        right[r] = hn::Add(hn::LoadU(d, row + lanes), right[r]);
      }
      hn::StoreU(left[r], d, row);
      hn::StoreU(right[r], d, row + lanes);
    }
    return;
  }
  HWY_ALIGN T tile[kRows * kPanelColumns<T>];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    hn::Store(left[r], d, tile + r * kPanelColumns<T>);
    hn::Store(right[r], d, tile + r * kPanelColumns<T> + lanes);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const T value = tile[r * kPanelColumns<T> + j];
      c[r * c_stride + j] = add ? c[r * c_stride + j] + value : value;
    }
  }
}

template <class T>
void PackedGemm(const GemmProblem<T>& g, T* scratch) {
  static_assert(kPanelColumns<T> <= kMaxPanelColumns);
  T* const packed_b = scratch;
  T* const packed_a = scratch + round_up(std::min(g.n, kBlockColumns), kMaxPanelColumns) *
                                    std::min(g.k, kBlockDepth);
  for (std::int64_t j0 = 0; j0 < g.n; j0 += kBlockColumns) {
    const std::int64_t columns = std::min(kBlockColumns, g.n - j0);
    for (std::int64_t p0 = 0; p0 < g.k; p0 += kBlockDepth) {
      const std::int64_t depth = std::min(kBlockDepth, g.k - p0);
      const bool add = g.accumulate || p0 > 0;
      const MatrixView<T> b = g.b.from(p0, j0);
      PackPanels<kPanelColumns<T>>(b.data, b.column_stride, b.row_stride, columns, depth, packed_b);
      for (std::int64_t i0 = 0; i0 < g.m; i0 += kBlockRows) {
        const std::int64_t rows = std::min(kBlockRows, g.m - i0);
        const MatrixView<T> a = g.a.from(i0, p0);
        PackPanels<kPanelRows>(a.data, a.row_stride, a.column_stride, rows, depth, packed_a);
        for (std::int64_t j = 0; j < columns; j += kPanelColumns<T>) {
          const std::int64_t width = std::min<std::int64_t>(kPanelColumns<T>, columns - j);
          for (std::int64_t i = 0; i < rows; i += kPanelRows) {
            const std::int64_t height = std::min<std::int64_t>(kPanelRows, rows - i);
            const T* pa = packed_a + i * depth;
            const T* pb = packed_b + j * depth;
            T* c = g.c + (i0 + i) * g.c_stride + j0 + j;
            if (height > kPanelRows * 2 / 3) {
              MicroKernel<kPanelRows>(depth, pa, pb, c, g.c_stride, height, width, add);
            } else if (height > kPanelRows / 3) {
              MicroKernel<kPanelRows * 2 / 3>(depth, pa, pb, c, g.c_stride, height, width, add);
            } else {
              MicroKernel<kPanelRows / 3>(depth, pa, pb, c, g.c_stride, height, width, add);
            }
          }
        }
      }
    }
  }
}

// -- Few rows: B is read once, where it lies -----------------------------------------------------

// kVectors vectors of columns from j on; lanes before `skip` are computed again and not written.
template <int kRows, int kVectors, class T>
void FewRowsColumns(std::int64_t k, const T* HWY_RESTRICT a, const T* HWY_RESTRICT b,
                    std::int64_t b_stride, std::int64_t j, std::int64_t skip, const Target<T>& c) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr int lanes = kPanelColumns<T> / 2;
  V sum[kRows * kVectors];
#pragma GCC unroll 16
  for (int s = 0; s < kRows * kVectors; ++s) sum[s] = hn::Zero(d);
  for (std::int64_t p = 0; p < k; ++p) {
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
    for (std::int64_t q = skip; q < kVectors * lanes; ++q) {
      c.put(r, j + q, values[r * kVectors * lanes + q]);
    }
  }
}

// B has contiguous rows: a sum of its rows, several vectors of columns at a time.
template <int kRows, class T>
void FewRowsOfRows(std::int64_t n, std::int64_t k, const T* a, const T* b, std::int64_t b_stride,
                   const Target<T>& c) {
  constexpr int lanes = kPanelColumns<T> / 2;
  constexpr int vectors = kRows == 1 ? 8 : kRows == 2 ? 4 : kPanelRows == 12 ? 4 : 2;
  std::int64_t j = 0;
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
      for (std::int64_t p = 0; p < k; ++p) sum += a[r * k + p] * b[p * b_stride + j];
      c.put(r, j, sum);
    }
  }
}

// kColumns dot products per row, from column j on.
template <int kRows, int kColumns, class T>
void FewRowsDots(std::int64_t k, const T* HWY_RESTRICT a, const T* HWY_RESTRICT b,
                 std::int64_t b_stride, std::int64_t j, const Target<T>& c) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr int lanes = kPanelColumns<T> / 2;
  V sum[kRows * kColumns];
#pragma GCC unroll 16
  for (int s = 0; s < kRows * kColumns; ++s) sum[s] = hn::Zero(d);
  std::int64_t p = 0;
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
      for (std::int64_t t = p; t < k; ++t) total += a[r * k + t] * b[(j + q) * b_stride + t];
      c.put(r, j + q, total);
    }
  }
}

// B has contiguous columns: dot products.
template <int kRows, class T>
void FewRowsOfColumns(std::int64_t n, std::int64_t k, const T* a, const T* b, std::int64_t b_stride,
                      const Target<T>& c) {
  constexpr int columns = kRows <= 2 || kPanelRows == 12 ? 4 : 2;
  std::int64_t j = 0;
  for (; j + columns <= n; j += columns) FewRowsDots<kRows, columns>(k, a, b, b_stride, j, c);
  for (; j < n; ++j) FewRowsDots<kRows, 1>(k, a, b, b_stride, j, c);
}

template <int kRows, class T>
void FewRowsGemm(std::int64_t n, std::int64_t k, const T* a, const MatrixView<T>& b,
                 const Target<T>& c) {
  if (b.column_stride == 1) {
    FewRowsOfRows<kRows>(n, k, a, b.data, b.row_stride, c);
  } else {
    FewRowsOfColumns<kRows>(n, k, a, b.data, b.column_stride, c);
  }
}

// Needs m <= kFewRows and a B with contiguous rows or columns.
template <class T>
void FewRows(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView<T>& a,
             const MatrixView<T>& b, const Target<T>& c, T* scratch) {
  const T* rows = a.data;
  if (a.column_stride != 1 || (m > 1 && a.row_stride != k)) {
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t p = 0; p < k; ++p) {
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

template <class T>
void Gemm(const GemmProblem<T>& g, T* scratch) {
  if (g.k == 0) {
    if (g.accumulate) return;
    for (std::int64_t i = 0; i < g.m; ++i) std::fill_n(g.c + i * g.c_stride, g.n, T{0});
    return;
  }
  const auto contiguous = [](const MatrixView<T>& v) {
    return v.row_stride == 1 || v.column_stride == 1;
  };
  if (g.m <= kFewRows && contiguous(g.b)) {
    FewRows<T>(g.m, g.n, g.k, g.a, g.b, {g.c, g.c_stride, 1, g.accumulate}, scratch);
  } else if (g.n <= kFewRows && contiguous(g.a)) {
    FewRows<T>(g.n, g.m, g.k, g.b.transposed(), g.a.transposed(),
               {g.c, 1, g.c_stride, g.accumulate}, scratch);
  } else {
    PackedGemm(g, scratch);
  }
}

void GemmF32(const GemmProblem<float>& g, float* scratch) { Gemm(g, scratch); }
void GemmF64(const GemmProblem<double>& g, double* scratch) { Gemm(g, scratch); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(GemmF32);
HWY_EXPORT(GemmF64);

std::size_t gemm_scratch_bytes(std::size_t element_size, std::int64_t m, std::int64_t n,
                               std::int64_t k) {
  const std::int64_t depth = std::min(k, kBlockDepth);
  const std::int64_t packed = (round_up(std::min(n, kBlockColumns), kMaxPanelColumns) +
                               round_up(std::min(m, kBlockRows), kMaxPanelRows)) *
                              depth;
  const std::int64_t few = std::min(m, n) <= kFewRows ? kFewRows * k : 0;
  return static_cast<std::size_t>(round_up(std::max(packed, few), 16)) * element_size;
}

void gemm(const GemmProblem<float>& problem, std::byte* scratch) {
  if (problem.m == 0 || problem.n == 0) return;
  HWY_DYNAMIC_DISPATCH(GemmF32)(problem, reinterpret_cast<float*>(scratch));
}

void gemm(const GemmProblem<double>& problem, std::byte* scratch) {
  if (problem.m == 0 || problem.n == 0) return;
  HWY_DYNAMIC_DISPATCH(GemmF64)(problem, reinterpret_cast<double*>(scratch));
}

}  // namespace weft::kernels
#endif  // HWY_ONCE

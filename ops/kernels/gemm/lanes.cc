// The lane engine: every vector of a row of A is multiplied by the vector of a column of B, and the
// lanes are added at the end of each block of K. It has the bits of the dot products of skinny.cc,
// so that batch-invariant products of any number of rows have one order of summation.
#include "weft/ops/kernels/gemm/skinny.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/gemm/lanes.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must be included before the headers below.
#include "hwy/cache_control.h"
#include "weft/ops/kernels/gemm/pack-inl.h"
#include "weft/ops/kernels/simd-inl.h"
#include "weft/ops/kernels/sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

using kernels::GemmEngine;
using kernels::MatrixSource;
using kernels::PackedBlock;

// The sums of a register block occupy 24 of 32 registers, or 12 of 16 registers.
constexpr int kRows = HWY_TARGET == HWY_AVX3 ? 6 : 3;
constexpr int kColumns = 4;

template <class T>
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Full<T>()));

// A panel consists of one group of vectors per step of kLanes elements of the depth: a vector of
// each of its rows of A or columns of B. Elements past the end are zeros.
template <class T, int kPanel>
size_t panel_bytes(int64_t depth) {
  const int64_t steps = (depth + kLanes<T> - 1) / kLanes<T>;
  return (static_cast<size_t>(steps * kLanes<T> * kPanel) * sizeof(T) + 63) / 64 * 64;
}

template <int kPanel, class S, class T>
void pack_panel_of_vectors(const S* in, int64_t across_stride, int64_t depth_stride, int64_t across,
                           int64_t depth, T* out) {
  const Full<T> d;
  constexpr int64_t lanes = kLanes<T>, step = lanes * kPanel;
  for (int64_t i = 0; i < kPanel; ++i, in += across_stride, out += lanes) {
    T* to = out;
    int64_t p = 0;
    if (i < across && depth_stride == 1) {
      for (; p + lanes <= depth; p += lanes, to += step) hn::Store(load_widened(d, in + p), d, to);
    }
    for (; p < depth; p += lanes, to += step) {
      hn::Store(hn::Zero(d), d, to);
      for (int64_t q = p; i < across && q < HWY_MIN(p + lanes, depth); ++q)
        to[q - p] = widened(in[q * depth_stride]);
    }
  }
}

template <class T, int kPanel>
void pack(const MatrixSource& source, int64_t across_stride, int64_t depth_stride, int64_t across,
          int64_t depth, std::byte* panels) {
  for (int64_t i = 0; i < across; i += kPanel, panels += panel_bytes<T, kPanel>(depth)) {
    const void* from = MatrixSource{source.data, source.dtype, across_stride, 0}.from(i, 0).data;
    const int64_t count = HWY_MIN(int64_t{kPanel}, across - i);
    T* to = reinterpret_cast<T*>(panels);
    if (source.dtype == DType::bf16) {
      pack_panel_of_vectors<kPanel>(elements<BFloat16>(from), across_stride, depth_stride, count,
                                    depth, to);
    } else if (source.dtype == DType::f16) {
      pack_panel_of_vectors<kPanel>(elements<Float16>(from), across_stride, depth_stride, count,
                                    depth, to);
    } else {
      pack_panel_of_vectors<kPanel>(elements<T>(from), across_stride, depth_stride, count, depth,
                                    to);
    }
  }
}

template <class T>
void pack_a(const MatrixSource& a, int64_t rows, int64_t depth, std::byte* panels) {
  pack<T, kRows>(a, a.row_stride, a.column_stride, rows, depth, panels);
}
template <class T>
void pack_b(const MatrixSource& b, int64_t depth, int64_t columns, std::byte* panels) {
  pack<T, kColumns>(b, b.column_stride, b.row_stride, columns, depth, panels);
}

// Computes the first kHeight rows of a panel of A times a panel of B. Only `rows` <= kHeight rows
// and `columns` columns are written. Prefetches a part of the next panel of B.
template <int kHeight, class T>
HWY_NOINLINE void multiply_panel(int64_t depth, const T* HWY_RESTRICT a, const T* HWY_RESTRICT b,
                                 T* HWY_RESTRICT c, int64_t c_stride, int64_t rows, int64_t columns,
                                 bool add, const T* next_b) {
  const Full<T> d;
  using V = hn::Vec<Full<T>>;
  constexpr int64_t lanes = kLanes<T>, line = static_cast<int64_t>(64 / sizeof(T));
  constexpr int64_t ahead = 2;  // steps. Panels of A are read from the L2 cache.
  V sum[kHeight][kColumns];
#pragma GCC unroll 8
  for (int r = 0; r < kHeight; ++r) {
    hwy::Prefetch(c + HWY_MIN(r, rows - 1) * c_stride);
#pragma GCC unroll 4
    for (int q = 0; q < kColumns; ++q) sum[r][q] = hn::Zero(d);
  }
  for (int64_t p = 0; p < depth; p += lanes, a += kRows * lanes, b += kColumns * lanes) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < kRows * lanes; i += line) hwy::Prefetch(a + ahead * kRows * lanes + i);
    __builtin_prefetch(next_b, 0, 2);
    next_b += line;
    V bv[kColumns];
#pragma GCC unroll 4
    for (int q = 0; q < kColumns; ++q) bv[q] = hn::Load(d, b + q * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < kHeight; ++r) {
      const V av = hn::Load(d, a + r * lanes);
#pragma GCC unroll 4
      for (int q = 0; q < kColumns; ++q) sum[r][q] = hn::MulAdd(av, bv[q], sum[r][q]);
    }
  }
  HWY_ALIGN T totals[kHeight * kColumns];
  sum_all<kHeight * kColumns>(d, &sum[0][0], totals);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t q = 0; q < columns; ++q) {
      const T value = totals[r * kColumns + q];
      c[r * c_stride + q] = add ? c[r * c_stride + q] + value : value;
    }
  }
}

template <class T>
void multiply(const PackedBlock& a, const PackedBlock& b, int64_t rows, int64_t columns,
              int64_t depth, void* c_data, int64_t c_stride, bool accumulate,
              std::byte* /*scratch*/) {
  const size_t a_bytes = panel_bytes<T, kRows>(depth), b_bytes = panel_bytes<T, kColumns>(depth);
  T* c = static_cast<T*>(c_data);
  const std::byte* b_panel = b.panels;
  // Every call prefetches one cache line of the next panel of B per step.
  const size_t part = static_cast<size_t>((depth + kLanes<T> - 1) / kLanes<T>) * 64;
  const int64_t parts = static_cast<int64_t>(b_bytes / part);
  for (int64_t j = 0; j < columns; j += kColumns, b_panel += b_bytes) {
    const int64_t width = HWY_MIN(int64_t{kColumns}, columns - j);
    // Memory after the last panel is not prefetched; see micro-inl.h.
    const std::byte* next_b = j + kColumns < columns ? b_panel + b_bytes : b_panel;
    const std::byte* a_panel = a.panels;
    for (int64_t i = 0; i < rows; i += kRows, a_panel += a_bytes) {
      const int64_t height = HWY_MIN(int64_t{kRows}, rows - i);
      const auto kernel = height <= 3 ? multiply_panel<3, T> : multiply_panel<kRows, T>;
      kernel(depth, elements<T>(a_panel), elements<T>(b_panel), c + i * c_stride + j, c_stride,
             height, width, accumulate,
             elements<T>(next_b + static_cast<size_t>(i / kRows % parts) * part));
    }
  }
}

template <class T>
const GemmEngine& engine() {
  static constexpr GemmEngine value = {
      .name = "lanes",
      .result = dtype_of<T>,
      .row_panel = kRows,
      .column_panel = kColumns,
      .depth_block = kernels::kLaneDepthBytes / static_cast<int64_t>(sizeof(T)),
      .a_panel_bytes = panel_bytes<T, kRows>,
      .b_panel_bytes = panel_bytes<T, kColumns>,
      .pack_a = pack_a<T>,
      .pack_b = pack_b<T>,
      .multiply = multiply<T>,
      .multiply_scratch = 0,
  };
  return value;
}
const GemmEngine& lane_engine_f32() { return engine<float>(); }
const GemmEngine& lane_engine_f64() { return engine<double>(); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {
HWY_EXPORT(lane_engine_f32);
HWY_EXPORT(lane_engine_f64);
}  // namespace

namespace kernels {
const GemmEngine& lane_engine(DType result) {
  return result == DType::f64 ? HWY_DYNAMIC_DISPATCH(lane_engine_f64)()
                              : HWY_DYNAMIC_DISPATCH(lane_engine_f32)();
}
}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE

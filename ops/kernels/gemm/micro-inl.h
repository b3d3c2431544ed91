// The micro-kernel for packed products, which computes a register block of a few rows and two
// vectors of columns of C. Included once per SIMD target, from a file that uses
// hwy/foreach_target.h.
#if defined(WEFT_OPS_KERNELS_GEMM_MICRO_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_OPS_KERNELS_GEMM_MICRO_INL_H_
#undef WEFT_OPS_KERNELS_GEMM_MICRO_INL_H_
#else
#define WEFT_OPS_KERNELS_GEMM_MICRO_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include "hwy/cache_control.h"
#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {

/// A register block has kPanelRows rows and two vectors of columns. Its sums occupy 24 of 32
/// registers, or 12 of 16 registers.
#if HWY_TARGET == HWY_AVX3
inline constexpr int kPanelRows = 12;
#else
inline constexpr int kPanelRows = 6;
#endif

template <class T>
inline constexpr int kVectorLanes = static_cast<int>(hn::MaxLanes(Full<T>()));
/// The number of columns in a packed panel of B.
template <class T>
inline constexpr int kPanelColumns = 2 * kVectorLanes<T>;

/// The prefetch distance in steps along the depth. Panels are read from the L2 cache, because a
/// panel of A and a panel of B together do not fit into the L1 cache.
inline constexpr int64_t kPrefetchSteps = 16;

/// Copies the first elements of a tile to C, or adds them to C if `add`.
template <class T>
HWY_NOINLINE void add_tile(const T* tile, int64_t tile_stride, int64_t rows, int64_t columns,
                           bool add, T* c, int64_t c_stride) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < columns; ++j) {
      const T value = tile[r * tile_stride + j];
      c[r * c_stride + j] = add ? c[r * c_stride + j] + value : value;
    }
  }
}

/// Computes kRows rows and kVectors vectors of columns of C from A and from a panel of B. A is a
/// panel, or consists of kRows contiguous rows at a distance of a_stride elements if `kPackedA` is
/// false. Every element is computed by a single chain of fused multiply-adds over the depth, the
/// result of which is added to C if `add`. Only `rows` <= kRows rows and `columns` columns are
/// written.
template <int kRows, int kVectors, bool kPackedA, class T>
HWY_NOINLINE void micro_kernel(int64_t depth, const T* HWY_RESTRICT a, int64_t a_stride,
                               const T* HWY_RESTRICT b, T* HWY_RESTRICT c, int64_t c_stride,
                               int64_t rows, int64_t columns, bool add, const T* next_a,
                               const T* next_b) {
  const Full<T> d;
  using V = hn::Vec<Full<T>>;
  constexpr int lanes = kVectorLanes<T>;
  constexpr int line = static_cast<int>(64 / sizeof(T));
  constexpr int unroll = kPackedA ? 4 : 1, a_step = kPackedA ? kPanelRows : 1;
  V sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    hwy::Prefetch(c + HWY_MIN(r, rows - 1) * c_stride);
    if (kVectors > 1) hwy::Prefetch(c + HWY_MIN(r, rows - 1) * c_stride + columns - 1);
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  // Three rows that are not packed share one pointer, so that the addresses fit into registers.
  const T* HWY_RESTRICT thirds[(kRows + 2) / 3];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; r += 3) thirds[r / 3] = a + r * (kPackedA ? 1 : a_stride);
  const auto step = [&](int q, const T* HWY_RESTRICT bp) HWY_ATTR {
    V bv[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) bv[v] = hn::Load(d, bp + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const V ar = hn::Set(d, kPackedA ? a[q * a_step + r] : thirds[r / 3][r % 3 * a_stride + q]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(ar, bv[v], sum[r][v]);
    }
  };
  const auto advance = [&](int steps) HWY_ATTR {
    a += steps * a_step;
    b += steps * kPanelColumns<T>;
#pragma GCC unroll 4
    for (auto& third : thirds) third += kPackedA ? 0 : steps;
  };
  int64_t p = 0;
  for (; p + unroll <= depth; p += unroll) {
    if constexpr (kPackedA) {
#pragma GCC unroll 16
      for (int q = 0; q < unroll * kPanelRows; q += line) {
        hwy::Prefetch(a + kPrefetchSteps * kPanelRows + q);
        __builtin_prefetch(next_a + q, 0, 2);
      }
      next_a += unroll * kPanelRows;
    }
#pragma GCC unroll 16
    for (int q = 0; q < unroll * kPanelColumns<T>; q += line) {
      hwy::Prefetch(b + kPrefetchSteps * kPanelColumns<T> + q);
    }
    __builtin_prefetch(next_b, 0, 2);
    next_b += line * unroll / 4;
#pragma GCC unroll 4
    for (int q = 0; q < unroll; ++q) step(q, b + q * kPanelColumns<T>);
    advance(unroll);
  }
  for (; p < depth; ++p) {
    step(0, b);
    advance(1);
  }
  if (rows == kRows && columns == kVectors * lanes) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      T* row = c + r * c_stride;
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        if (add) sum[r][v] = hn::Add(hn::LoadU(d, row + v * lanes), sum[r][v]);
        hn::StoreU(sum[r][v], d, row + v * lanes);
      }
    }
    return;
  }
  HWY_ALIGN T tile[kRows * kVectors * lanes];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(sum[r][v], d, tile + (r * kVectors + v) * lanes);
    }
  }
  add_tile(tile, kVectors * lanes, rows, columns, add, c, c_stride);
}

/// Returns the micro-kernel with the fewest rows and columns for these sizes.
template <bool kPackedA, class T>
auto choose_micro_kernel(int64_t rows, int64_t columns) {
  constexpr int third = kPanelRows / 3;
  return columns <= kVectorLanes<T> ? (rows > 2 * third ? micro_kernel<3 * third, 1, kPackedA, T>
                                       : rows > third   ? micro_kernel<2 * third, 1, kPackedA, T>
                                                        : micro_kernel<third, 1, kPackedA, T>)
                                    : (rows > 2 * third ? micro_kernel<3 * third, 2, kPackedA, T>
                                       : rows > third   ? micro_kernel<2 * third, 2, kPackedA, T>
                                                        : micro_kernel<third, 2, kPackedA, T>);
}

/// True if the last columns of B are multiplied with the vectors of a panel of A. This takes a
/// third of the time of a vector of columns of which at most kFewColumns are used.
template <class T>
inline constexpr bool kHasFewColumns =
    kSafeMasks<T>&& kPanelRows <= kVectorLanes<T>&& kPanelRows > kVectorLanes<T> / 2;
inline constexpr int64_t kFewColumns = 4;

/// Computes the last, at most kFewColumns columns from panels of A and B: the bits of micro_kernel.
/// kFewColumns columns of the panel of B are read.
template <class T>
HWY_NOINLINE void few_columns_kernel(int64_t depth, const T* HWY_RESTRICT a,
                                     const T* HWY_RESTRICT b, T* HWY_RESTRICT c, int64_t c_stride,
                                     int64_t rows, int64_t columns, bool add) {
  const Full<T> d;
  const auto mask = hn::FirstN(d, kPanelRows);
  hn::Vec<Full<T>> sum[kFewColumns];
#pragma GCC unroll 4
  for (auto& s : sum) s = hn::Zero(d);
  for (int64_t p = 0; p < depth; ++p, a += kPanelRows, b += kPanelColumns<T>) {
    const auto av = hn::MaskedLoad(mask, d, a);
#pragma GCC unroll 4
    for (int64_t j = 0; j < kFewColumns; ++j) sum[j] = hn::MulAdd(hn::Set(d, b[j]), av, sum[j]);
  }
  HWY_ALIGN T tile[kVectorLanes<T> * kFewColumns];
#pragma GCC unroll 4
  for (int64_t j = 0; j < kFewColumns; ++j) hn::Store(sum[j], d, tile + j * kVectorLanes<T>);
  for (int64_t r = 0; r < rows; ++r, c += c_stride) {
    for (int64_t j = 0; j < columns; ++j) {
      const T value = tile[j * kVectorLanes<T> + r];
      c[j] = add ? c[j] + value : value;
    }
  }
}

/// Computes C = A B, or C += A B if `add`, for one block of packed panels. The distances between
/// panels are a_bytes and b_bytes. If `a_stride` is not 0, A is not packed: its rows are contiguous
/// and have this distance, and their number is a multiple of kPanelRows / 3.
template <class T>
void multiply_panels(const std::byte* a, size_t a_bytes, int64_t a_stride, const std::byte* b,
                     size_t b_bytes, int64_t rows, int64_t columns, int64_t depth, T* c,
                     int64_t c_stride, bool add) {
  // Every call prefetches this part of the next panel of B: depth / 4 cache lines.
  constexpr int64_t parts = 4 * kPanelColumns<T> * static_cast<int64_t>(sizeof(T)) / 64;
  if (a_stride != 0) a_bytes = static_cast<size_t>(kPanelRows * a_stride) * sizeof(T);
  for (int64_t j = 0; j < columns; j += kPanelColumns<T>, b += b_bytes) {
    const int64_t width = HWY_MIN(static_cast<int64_t>(kPanelColumns<T>), columns - j);
    int64_t few = 0;
    if constexpr (kHasFewColumns<T>) {
      if (a_stride == 0 && width % kVectorLanes<T> <= kFewColumns) few = width % kVectorLanes<T>;
    }
    const std::byte* a_panel = a;
    // Memory after the last panel may be the scratch of another worker, which must not be
    // prefetched: a later write to lines that two cores have read takes about 30 ns per line.
    const std::byte* next_b = width == kPanelColumns<T> && j + width < columns ? b + b_bytes : b;
    for (int64_t i = 0; i < rows; i += kPanelRows, a_panel += a_bytes) {
      const int64_t height = HWY_MIN(static_cast<int64_t>(kPanelRows), rows - i);
      if constexpr (kHasFewColumns<T>) {
        if (few > 0) {
          few_columns_kernel(depth, reinterpret_cast<const T*>(a_panel),
                             reinterpret_cast<const T*>(b) + width - few,
                             c + i * c_stride + j + width - few, c_stride, height, few, add);
        }
      }
      if (few == width) continue;
      const auto kernel = a_stride != 0 ? choose_micro_kernel<false, T>(height, width - few)
                                        : choose_micro_kernel<true, T>(height, width - few);
      const std::byte* next_a = i + kPanelRows < rows ? a_panel + a_bytes : a;
      kernel(depth, reinterpret_cast<const T*>(a_panel), a_stride, reinterpret_cast<const T*>(b),
             c + i * c_stride + j, c_stride, height, width - few, add,
             reinterpret_cast<const T*>(next_a),
             reinterpret_cast<const T*>(next_b) +
                 i / kPanelRows % parts * (depth / 4) * (64 / sizeof(T)));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard

#include "weft/ops/kernels/gemm/skinny.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/gemm/skinny.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must be included before the headers below.
#include "weft/ops/kernels/gemm/pack-inl.h"
#include "weft/ops/kernels/simd-inl.h"
#include "weft/ops/kernels/sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

using kernels::computed_rows;
using kernels::kMostSkinnyRows;
using kernels::kSkinnyRows;
using kernels::MatrixSource;
using kernels::SkinnyGemm;

template <class T>
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Full<T>()));
// The number of sums that a kernel keeps in registers.
constexpr int kSums = HWY_TARGET == HWY_AVX3 ? 16 : 8;
// The number of columns of B that are multiplied by each vector of A.
constexpr int kDotColumns = HWY_TARGET == HWY_AVX3 ? 3 : 1;

// Rows of B are added in groups of kGroup rows while the next group is prefetched. Each step
// processes kBlockColumns columns of C. Memory is therefore read in contiguous runs, regardless of
// the row length. The sums of a few rows of A stay in the L1 cache. The sums of eight rows are read
// from the L2 cache and written back for every group, hence the larger groups.
template <int kRows>
constexpr int64_t kGroup = kRows < 8 ? 4 : 16;
// Not a multiple of 4 KiB, so that the sums of eight rows occupy different sets of the L1 cache.
constexpr int64_t kBlockColumns = kernels::kSkinnyBlock - 128;
// The prefetch distance if the columns of B are contiguous.
constexpr int64_t kPrefetchBytes = 8192;

// Prefetches into the L2 cache, because the L1 cache has too few miss buffers to keep memory busy
// (measured: 0.8 times the speed of a plain read with L1, full speed with L2).
HWY_INLINE void prefetch(const void* p) { __builtin_prefetch(p, 0, 2); }

// The rows of A and C. If there are fewer rows than a kernel computes, the last row is repeated.
template <class T>
struct Rows {
  const T* a[kMostSkinnyRows];
  T* sums;  // a block of kBlockColumns for every row that is computed
  T* c;
  int64_t count, row_stride, column_stride, depth_block;
  int64_t prefetch_distance;  // in elements of B, if its columns are contiguous
  bool accumulate;

  // Writes the sum over the block of K that begins at `depth`. The blocks are added in order.
  void put(int64_t i, int64_t j, int64_t depth, T value) const {
    if (i >= count) return;
    T& at = c[i * row_stride + j * column_stride];
    at = accumulate || depth > 0 ? at + value : value;
  }
};

// Returns a vector with the first `count` elements, followed by zeros.
template <class D, class S>
HWY_INLINE hn::Vec<D> load_first(D d, const S* from, int64_t count) {
  HWY_ALIGN S buffer[hn::MaxLanes(d)] = {};
  for (int64_t i = 0; i < count; ++i) buffer[i] = from[i];
  return load_widened(d, buffer);
}

// -- B has contiguous rows: sums of its rows -----------------------------------------------------

// Computes sums[r][0 ... width) += a[r][p + q] * b[q][0 ... width) for the rows q of a group, in
// order, and the rows r of A from `first`. `width` is the number of elements in kVectors vectors;
// it may be smaller if kVectors is 1.
template <bool kFetch, int kRows, int kVectors, class S, class T>
HWY_INLINE void add_group(const Rows<T>& rows, int64_t first, int64_t p, int64_t group,
                          const S* HWY_RESTRICT b, int64_t b_stride, int64_t width, int64_t j) {
  const Full<T> d;
  using V = hn::Vec<Full<T>>;
  constexpr int lanes = kLanes<T>;
  constexpr int line = static_cast<int>(64 / sizeof(S));
  T* HWY_RESTRICT sums = rows.sums + first * kBlockColumns + j;
  V sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      sum[r][v] = hn::Load(d, sums + r * kBlockColumns + v * lanes);
    }
  }
  for (int64_t q = 0; q < group; ++q) {
    const S* row = b + q * b_stride;
    V bv[kVectors];
    if (kVectors == 1 && width < lanes) {
      bv[0] = load_first(d, row, width);
    } else {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        if (kFetch && v * lanes % line == 0) prefetch(row + kGroup<kRows> * b_stride + v * lanes);
        bv[v] = load_widened(d, row + v * lanes);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const V ar = hn::Set(d, rows.a[first + r][p + q]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(ar, bv[v], sum[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(sum[r][v], d, sums + r * kBlockColumns + v * lanes);
    }
  }
}

// Calls add_group() for all rows of A. Rows after the first kSkinnyRows find the group in the L1
// cache.
template <int kRows, int kVectors, class S, class T>
HWY_INLINE void add_group_to_rows(const Rows<T>& rows, int64_t p, int64_t group, const S* b,
                                  int64_t b_stride, int64_t width, int64_t j) {
  add_group<true, kRows, kVectors>(rows, 0, p, group, b, b_stride, width, j);
  if (kRows == kSkinnyRows && rows.count > kRows)
    add_group<false, kRows, kVectors>(rows, kRows, p, group, b, b_stride, width, j);
}

// Writes the sums of columns [first, first + columns) over the block of K that begins at `depth`.
template <class T>
HWY_INLINE void put_sums(const Rows<T>& rows, int64_t r, int64_t first, int64_t columns,
                         int64_t depth) {
  const Full<T> d;
  const T* sums = rows.sums + r * kBlockColumns;
  int64_t j = 0;
  if (rows.column_stride == 1) {
    T* c = rows.c + r * rows.row_stride + first;
    const bool add = rows.accumulate || depth > 0;
    for (; j + kLanes<T> <= columns; j += kLanes<T>) {
      const auto sum = hn::Load(d, sums + j);
      hn::StoreU(add ? hn::Add(hn::LoadU(d, c + j), sum) : sum, d, c + j);
    }
  }
  for (; j < columns; ++j) rows.put(r, first + j, depth, sums[j]);
}

template <int kRows, class S, class T>
void sum_of_rows(int64_t n, int64_t k, const S* b, int64_t b_stride, const Rows<T>& rows) {
  constexpr int vectors = HWY_MIN(8, kSums / kRows);
  constexpr int64_t lanes = kLanes<T>;
  const Full<T> d;
  const int64_t computed = kRows < kSkinnyRows ? kRows : computed_rows(rows.count);
  for (int64_t j0 = 0; j0 < n; j0 += kBlockColumns) {
    const int64_t columns = HWY_MIN(kBlockColumns, n - j0);
    for (int64_t begin = 0; begin < k; begin += rows.depth_block) {
      const int64_t end = HWY_MIN(k, begin + rows.depth_block);
      for (int64_t r = 0; r < computed; ++r) {
        for (int64_t j = 0; j < columns; j += lanes)
          hn::Store(hn::Zero(d), d, rows.sums + r * kBlockColumns + j);
      }
      for (int64_t p = begin; p < end; p += kGroup<kRows>) {
        const int64_t group = HWY_MIN(kGroup<kRows>, end - p);
        const S* first = b + p * b_stride + j0;
        int64_t j = 0;
        for (; j + vectors * lanes <= columns; j += vectors * lanes) {
          add_group_to_rows<kRows, vectors>(rows, p, group, first + j, b_stride, vectors * lanes,
                                            j);
        }
        for (; j < columns; j += lanes) {
          add_group_to_rows<kRows, 1>(rows, p, group, first + j, b_stride,
                                      HWY_MIN(lanes, columns - j), j);
        }
      }
      for (int64_t r = 0; r < rows.count; ++r) put_sums(rows, r, j0, columns, begin);
    }
  }
}

// -- B has contiguous columns: dot products ------------------------------------------------------

// Adds the products of the vectors that begin at element p, in the rows of A from `first` and the
// given columns of B. A vector contains at most `count` elements.
template <bool kPart, bool kFetch, int kRows, int kColumns, class S, class T>
HWY_INLINE void add_products(const Rows<T>& rows, int64_t first, const S* const* columns, int64_t p,
                             int64_t count, hn::Vec<Full<T>> (*sum)[kColumns]) {
  const Full<T> d;
  const int64_t ahead = p + rows.prefetch_distance;
  hn::Vec<Full<T>> bv[kColumns];
#pragma GCC unroll 4
  for (int q = 0; q < kColumns; ++q) {
    const S* at = columns[q] + p;
    if (kFetch) prefetch(columns[q] + ahead);
    bv[q] = kPart ? load_first(d, at, count) : load_widened(d, at);
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    const T* at = rows.a[first + r] + p;
    const auto av = kPart ? load_first(d, at, count) : hn::LoadU(d, at);
#pragma GCC unroll 4
    for (int q = 0; q < kColumns; ++q) sum[r][q] = hn::MulAdd(av, bv[q], sum[r][q]);
  }
}

// Computes the dot products of the rows of A from `first` and the columns of B from j, for the
// block of K that begins at `depth`. The order of summation depends neither on the number of rows
// nor on the number of columns.
template <int kRows, int kColumns, class S, class T>
void dot_columns(int64_t depth, int64_t end, const S* HWY_RESTRICT b, int64_t b_stride, int64_t j,
                 const Rows<T>& rows, int64_t first) {
  const Full<T> d;
  constexpr int64_t lanes = kLanes<T>;
  constexpr int64_t line = static_cast<int64_t>(64 / sizeof(S));
  const S* columns[kColumns];
  hn::Vec<Full<T>> sum[kRows][kColumns];
#pragma GCC unroll 4
  for (int q = 0; q < kColumns; ++q) {
    columns[q] = b + (j + q) * b_stride;
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) sum[r][q] = hn::Zero(d);
  }
  int64_t p = depth;
  // Each cache line is prefetched once.
  constexpr int64_t vectors = HWY_MAX(int64_t{1}, line / lanes);
  for (; p + vectors * lanes <= end; p += vectors * lanes) {
    add_products<false, true, kRows, kColumns>(rows, first, columns, p, lanes, sum);
#pragma GCC unroll 8
    for (int64_t v = 1; v < vectors; ++v)
      add_products<false, false, kRows, kColumns>(rows, first, columns, p + v * lanes, lanes, sum);
  }
  for (; p + lanes <= end; p += lanes)
    add_products<false, false, kRows, kColumns>(rows, first, columns, p, lanes, sum);
  if (p < end) add_products<true, false, kRows, kColumns>(rows, first, columns, p, end - p, sum);
  HWY_ALIGN T totals[kRows * kColumns + 4];
  sum_all<kRows * kColumns>(d, &sum[0][0], totals);
  for (int r = 0; r < kRows; ++r) {
    for (int q = 0; q < kColumns; ++q) rows.put(first + r, j + q, depth, totals[r * kColumns + q]);
  }
}

// Computes all rows of A, one block of K after another. Rows after the first kSkinnyRows find the
// columns in the L1 cache.
template <int kColumns, class S, class T>
void dot_rows(int64_t k, const S* b, int64_t b_stride, int64_t j, const Rows<T>& rows) {
  const auto dot = rows.count == 1   ? dot_columns<1, kColumns, S, T>
                   : rows.count == 2 ? dot_columns<2, kColumns, S, T>
                   : rows.count <= 4 ? dot_columns<4, kColumns, S, T>
                                     : dot_columns<8, kColumns, S, T>;
  for (int64_t p = 0; p < k; p += rows.depth_block) {
    for (int64_t i = 0; i < rows.count; i += kSkinnyRows)
      dot(p, HWY_MIN(k, p + rows.depth_block), b, b_stride, j, rows, i);
  }
}

template <class S, class T>
void dot_all_columns(int64_t n, int64_t k, const S* b, int64_t b_stride, const Rows<T>& rows) {
  constexpr int columns = kDotColumns;
  // One row is multiplied by one column at a time, because reading a single stream from memory is
  // fastest. Columns of 16 bits are too short for that: the additions would wait for each other.
  const bool single = rows.count == 1 && sizeof(S) >= sizeof(float);
  int64_t j = 0;
  for (; j + columns <= n && !single; j += columns) {
    dot_rows<columns>(k, b, b_stride, j, rows);
  }
  for (; j < n; ++j) dot_rows<1>(k, b, b_stride, j, rows);
}

template <class S, class T>
void dots(int64_t n, int64_t k, const S* b, int64_t b_stride, const Rows<T>& rows) {
  Rows<T> block = rows;
  block.prefetch_distance = kPrefetchBytes / static_cast<int64_t>(sizeof(S));
  if (k <= rows.depth_block || rows.count <= 2) return dot_all_columns(n, k, b, b_stride, block);
  // More rows do not fit into the L1 cache. The products with one block of K are computed for all
  // columns before the next block. The block is copied, because rows at multiples of 4 KiB would
  // occupy the same sets of the cache.
  for (int64_t p = 0; p < k; p += rows.depth_block) {
    const int64_t depth = HWY_MIN(rows.depth_block, k - p);
    for (int64_t r = 0; r < computed_rows(rows.count); ++r) {
      T* to = rows.sums + r * kBlockColumns;
      block.a[r] = r < rows.count ? to : block.a[rows.count - 1];
      if (r < rows.count) std::copy_n(rows.a[r] + p, depth, to);
    }
    block.accumulate = rows.accumulate || p > 0;
    // Prefetches the next block of the columns, and finally the first block of the next columns.
    block.prefetch_distance = p + depth < k ? depth : n * b_stride - p;
    dot_all_columns(n, depth, b + p, b_stride, block);
  }
}

// -- Dispatch ------------------------------------------------------------------------------------

template <class S, class T>
void with_rows(const SkinnyGemm& g, const Rows<T>& rows) {
  const S* b = elements<S>(g.b.data);
  if (g.b.column_stride != 1) return dots(g.n, g.k, b, g.b.column_stride, rows);
  if (g.m == 1) return sum_of_rows<1>(g.n, g.k, b, g.b.row_stride, rows);
  if (g.m == 2) return sum_of_rows<2>(g.n, g.k, b, g.b.row_stride, rows);
  if (g.m <= 4) return sum_of_rows<4>(g.n, g.k, b, g.b.row_stride, rows);
  sum_of_rows<8>(g.n, g.k, b, g.b.row_stride, rows);
}

template <class T, class S>
void copy_rows(const SkinnyGemm& g, T* to) {
  for (int64_t i = 0; i < g.m; ++i) {
    const S* row = elements<S>(g.a.data) + i * g.a.row_stride;
    for (int64_t p = 0; p < g.k; ++p) to[i * g.k + p] = widened(row[p * g.a.column_stride]);
  }
}

// Returns the rows of A as contiguous elements of type T. The rows are copied to `scratch` if
// necessary.
template <class T>
Rows<T> rows_of(const SkinnyGemm& g, T* scratch) {
  const int64_t rows_computed = computed_rows(g.m);
  Rows<T> rows;
  rows.sums = scratch;
  scratch += rows_computed * kBlockColumns;
  rows.c = static_cast<T*>(g.c);
  rows.count = g.m;
  rows.row_stride = g.c_row_stride;
  rows.column_stride = g.c_column_stride;
  rows.accumulate = g.accumulate;
  rows.depth_block = kernels::row_order_engine(g.result, g.b).depth_block;
  const bool is_contiguous = g.a.dtype == g.result && g.a.column_stride == 1;
  if (!is_contiguous) {
    if (g.a.dtype == DType::bf16) {
      copy_rows<T, BFloat16>(g, scratch);
    } else if (g.a.dtype == DType::f16) {
      copy_rows<T, Float16>(g, scratch);
    } else {
      copy_rows<T, T>(g, scratch);
    }
  }
  const T* first = is_contiguous ? elements<T>(g.a.data) : scratch;
  const int64_t stride = is_contiguous ? g.a.row_stride : g.k;
  for (int64_t r = 0; r < kMostSkinnyRows; ++r) rows.a[r] = first + HWY_MIN(r, g.m - 1) * stride;
  return rows;
}

template <class T>
void skinny_gemm(const SkinnyGemm& g, T* scratch) {
  const Rows<T> rows = rows_of(g, scratch);
  if (g.b.dtype == DType::bf16) return with_rows<BFloat16>(g, rows);
  if (g.b.dtype == DType::f16) return with_rows<Float16>(g, rows);
  with_rows<T>(g, rows);
}
void skinny_gemm_f32(const SkinnyGemm& g, std::byte* scratch) {
  skinny_gemm(g, reinterpret_cast<float*>(scratch));
}
void skinny_gemm_f64(const SkinnyGemm& g, std::byte* scratch) {
  skinny_gemm(g, reinterpret_cast<double*>(scratch));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {
HWY_EXPORT(skinny_gemm_f32);
HWY_EXPORT(skinny_gemm_f64);
}  // namespace

namespace kernels {

bool skinny_gemm_fits(const MatrixSource& b) { return b.row_stride == 1 || b.column_stride == 1; }

std::size_t skinny_gemm_scratch_bytes(DType result, std::int64_t m, std::int64_t k) {
  const std::int64_t rows = computed_rows(m);
  return (static_cast<std::size_t>(rows * (k + kSkinnyBlock)) * dtype_size(result) + 63) / 64 * 64;
}

void skinny_gemm(const SkinnyGemm& problem, std::byte* scratch) {
  if (problem.result == DType::f64) {
    HWY_DYNAMIC_DISPATCH(skinny_gemm_f64)(problem, scratch);
  } else {
    HWY_DYNAMIC_DISPATCH(skinny_gemm_f32)(problem, scratch);
  }
}

}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE

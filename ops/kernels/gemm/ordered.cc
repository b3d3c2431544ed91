#include "weft/ops/kernels/gemm/ordered.h"

#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/gemm/ordered.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must be included before the headers below.
#include "weft/ops/kernels/gemm/pack-inl.h"
#include "weft/ops/kernels/gemm/transpose-inl.h"
#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

using kernels::kOrderedRows;
using kernels::SkinnyGemm;

template <class T>
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Full<T>()));

// Prefetches into the L2 cache; see skinny.cc.
HWY_INLINE void fetch(const void* p) { __builtin_prefetch(p, 0, 2); }

// The rows of A and C. If there are fewer rows than a kernel computes, the last row is repeated.
template <class T>
struct Operands {
  const T* a[kOrderedRows];
  T* sums;  // kOrderedRows x kBlockColumns, zeros between the blocks of K
  T* c;
  int64_t rows, c_stride, depth_block;
  bool accumulate;

  // Returns true if the sums of the block of K that begins at `first` are added to C.
  bool adds(int64_t first) const { return accumulate || first > 0; }
};

template <class D>
HWY_INLINE void put_sums(D d, hn::Vec<D> sum, hn::TFromD<D>* c, int64_t count, bool add) {
  if (count >= static_cast<int64_t>(hn::Lanes(d))) {
    hn::StoreU(add ? hn::Add(hn::LoadU(d, c), sum) : sum, d, c);
  } else {
    const auto n = static_cast<size_t>(count);
    store_part(add ? hn::Add(load_part(d, c, n), sum) : sum, d, c, n);
  }
}

// -- B has contiguous rows: sums of its rows -----------------------------------------------------

// As in skinny.cc, kGroup rows of B are added at a time to sums that stay in the L1 cache, so that
// memory is read in long runs.
constexpr int64_t kGroup = 4;
constexpr int64_t kBlockColumns = 4096;
constexpr int kSums = HWY_TARGET == HWY_AVX3 ? 16 : 8;

// Adds a[r][p + q] * b[q] to the sums for the rows q of a group, in order, in kVectors vectors of
// columns.
template <int kRows, int kVectors, class S, class T>
HWY_INLINE void add_group(const Operands<T>& o, int64_t p, int64_t group, const S* HWY_RESTRICT b,
                          int64_t b_stride, T* HWY_RESTRICT sums) {
  const Full<T> d;
  using V = hn::Vec<Full<T>>;
  constexpr int lanes = kLanes<T>, line = static_cast<int>(64 / sizeof(S));
  V sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      sum[r][v] = hn::Load(d, sums + r * kBlockColumns + v * lanes);
  }
  for (int64_t q = 0; q < group; ++q) {
    const S* row = b + q * b_stride;
    V bv[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      if (v * lanes % line == 0) fetch(row + kGroup * b_stride + v * lanes);
      bv[v] = load_widened(d, row + v * lanes);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const V ar = hn::Set(d, o.a[r][p + q]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(ar, bv[v], sum[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      hn::Store(sum[r][v], d, sums + r * kBlockColumns + v * lanes);
  }
}

// As above, for the last columns, which are fewer than a vector.
template <int kRows, class S, class T>
void add_last_columns(const Operands<T>& o, int64_t p, int64_t group, const S* b, int64_t b_stride,
                      int64_t columns, T* sums) {
  const Full<T> d;
  HWY_ALIGN S part[kGroup * kLanes<T>] = {};
  for (int64_t q = 0; q < group; ++q) {
    for (int64_t j = 0; j < columns; ++j) part[q * kLanes<T> + j] = b[q * b_stride + j];
  }
  for (int r = 0; r < kRows; ++r) {
    auto sum = hn::Load(d, sums + r * kBlockColumns);
    for (int64_t q = 0; q < group; ++q) {
      sum = hn::MulAdd(hn::Set(d, o.a[r][p + q]), load_widened(d, part + q * kLanes<T>), sum);
    }
    hn::Store(sum, d, sums + r * kBlockColumns);
  }
}

template <int kRows, class S, class T>
void sum_of_rows(int64_t n, int64_t k, const S* b, int64_t b_stride, const Operands<T>& o) {
  const Full<T> d;
  constexpr int vectors = HWY_MIN(8, kSums / kRows);
  constexpr int64_t lanes = kLanes<T>;
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t j = 0; j < HWY_MIN(kBlockColumns, n); j += lanes)
      hn::Store(hn::Zero(d), d, o.sums + r * kBlockColumns + j);
  }
  for (int64_t j0 = 0; j0 < n; j0 += kBlockColumns) {
    const int64_t columns = HWY_MIN(kBlockColumns, n - j0);
    for (int64_t first = 0; first < k; first += o.depth_block) {
      const int64_t end = HWY_MIN(k, first + o.depth_block);
      for (int64_t p = first; p < end; p += kGroup) {
        const int64_t group = HWY_MIN(kGroup, end - p);
        const S* from = b + p * b_stride + j0;
        int64_t j = 0;
        for (; j + vectors * lanes <= columns; j += vectors * lanes)
          add_group<kRows, vectors>(o, p, group, from + j, b_stride, o.sums + j);
        for (; j + lanes <= columns; j += lanes)
          add_group<kRows, 1>(o, p, group, from + j, b_stride, o.sums + j);
        if (j < columns)
          add_last_columns<kRows>(o, p, group, from + j, b_stride, columns - j, o.sums + j);
      }
      for (int64_t r = 0; r < kRows; ++r) {
        T* sums = o.sums + r * kBlockColumns;
        T* c = o.c + r * o.c_stride + j0;
        for (int64_t j = 0; j < columns; j += lanes) {
          if (r < o.rows) put_sums(d, hn::Load(d, sums + j), c + j, columns - j, o.adds(first));
          hn::Store(hn::Zero(d), d, sums + j);
        }
      }
    }
  }
}

// -- B has contiguous columns: products with transposed squares ----------------------------------

// Computes sum[r] += a[r][p + q] * column q of the square for its first `count` columns.
template <int kRows, class V, class T>
HWY_INLINE void add_square(const Operands<T>& o, int64_t p, int64_t count, const V* square,
                           V* sum) {
  const Full<T> d;
  if (HWY_LIKELY(count >= kLanes<T>)) {
#pragma GCC unroll 16
    for (int q = 0; q < kLanes<T>; ++q) {
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r)
        sum[r] = hn::MulAdd(hn::Set(d, o.a[r][p + q]), square[q], sum[r]);
    }
    return;
  }
  for (int64_t q = 0; q < count; ++q) {
    for (int r = 0; r < kRows; ++r)
      sum[r] = hn::MulAdd(hn::Set(d, o.a[r][p + q]), square[q], sum[r]);
  }
}

// Adds the products of up to kLanes<T> inputs from p, of which there are `count`.
template <int kRows, class S, class V, class T>
HWY_INLINE void add_inputs(const Operands<T>& o, const S* const* columns, int64_t p, int64_t count,
                           V* sum) {
  const Full<T> d;
  V square[kLanes<T>];
  if (HWY_LIKELY(count >= kLanes<T>)) {
#pragma GCC unroll 16
    for (int c = 0; c < kLanes<T>; ++c) square[c] = load_widened(d, columns[c] + p);
  } else {
    for (int c = 0; c < kLanes<T>; ++c) {
      HWY_ALIGN S part[kLanes<T>] = {};
      for (int64_t q = 0; q < count; ++q) part[q] = columns[c][p + q];
      square[c] = load_widened(d, part);
    }
  }
  transpose(d, square);
  add_square<kRows>(o, p, count, square, sum);
}

#if HWY_TARGET != HWY_SCALAR
// As above, for a multiple of two inputs per lane: pairs of bfloat16 numbers are transposed
// together and then widened, which halves the number of shuffles.
template <int kRows, class V>
HWY_INLINE void add_pairs(const Operands<float>& o, const BFloat16* const* columns, int64_t p,
                          V* sum) {
  const Full<float> d;
  const Full<uint32_t> u;
  constexpr int lanes = kLanes<float>;
  V pairs[lanes];
#pragma GCC unroll 16
  for (int c = 0; c < lanes; ++c)
    pairs[c] = hn::BitCast(d, hn::LoadU(u, reinterpret_cast<const uint32_t*>(columns[c] + p)));
  transpose(d, pairs);
  const auto upper = hn::Set(u, 0xFFFF0000u);
#pragma GCC unroll 16
  for (int q = 0; q < lanes; ++q) {
    const auto bits = hn::BitCast(u, pairs[q]);
    const V even = hn::BitCast(d, hn::ShiftLeft<16>(bits));
    const V odd = hn::BitCast(d, hn::And(bits, upper));
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      sum[r] = hn::MulAdd(hn::Set(d, o.a[r][p + 2 * q]), even, sum[r]);
      sum[r] = hn::MulAdd(hn::Set(d, o.a[r][p + 2 * q + 1]), odd, sum[r]);
    }
  }
}
#endif

// The largest group of columns of which the next one is prefetched as a whole, in order of memory.
// Reading one stream from memory is faster than reading one per column.
constexpr int64_t kFetchedBytes = 384 << 10;
constexpr int64_t kFetchAhead = 1024;  // bytes within a column, for larger groups

template <int kRows, class S, class T>
void products(int64_t n, int64_t k, const S* b, int64_t b_stride, const Operands<T>& o) {
  const Full<T> d;
  using V = hn::Vec<Full<T>>;
  constexpr int64_t lanes = kLanes<T>, line = static_cast<int64_t>(64 / sizeof(S));
  const bool by_group =
      b_stride == k && k * lanes * static_cast<int64_t>(sizeof(S)) <= kFetchedBytes;
  for (int64_t j = 0; j < n; j += lanes) {
    const S* columns[kLanes<T>];
    for (int64_t c = 0; c < lanes; ++c) columns[c] = b + HWY_MIN(j + c, n - 1) * b_stride;
    const S* next = b + (j + lanes) * b_stride;
    const auto fetch_inputs = [&](int64_t p, int64_t count) HWY_ATTR {
      if (by_group) {
        for (int64_t at = p * lanes; at < (p + count) * lanes; at += line) fetch(next + at);
      } else if (p % line == 0) {
        for (int64_t c = 0; c < lanes; ++c)
          fetch(reinterpret_cast<const std::byte*>(columns[c] + p) + kFetchAhead);
      }
    };
    for (int64_t first = 0; first < k; first += o.depth_block) {
      const int64_t end = HWY_MIN(k, first + o.depth_block);
      V sum[kRows];
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) sum[r] = hn::Zero(d);
      int64_t p = first;
#if HWY_TARGET != HWY_SCALAR
      if constexpr (sizeof(T) == 4 && std::is_same_v<S, BFloat16>) {
        for (; p + 2 * lanes <= end; p += 2 * lanes) {
          fetch_inputs(p, 2 * lanes);
          add_pairs<kRows>(o, columns, p, sum);
        }
      }
#endif
      for (; p < end; p += lanes) {
        fetch_inputs(p, lanes);
        add_inputs<kRows>(o, columns, p, end - p, sum);
      }
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        if (r < o.rows) put_sums(d, sum[r], o.c + r * o.c_stride + j, n - j, o.adds(first));
      }
    }
  }
}

// -- Dispatch ------------------------------------------------------------------------------------

template <int kRows, class S, class T>
void multiply(const SkinnyGemm& g, const Operands<T>& o) {
  const S* b = elements<S>(g.b.data);
  if (g.b.column_stride == 1) {
    sum_of_rows<kRows>(g.n, g.k, b, g.b.row_stride, o);
  } else {
    products<kRows>(g.n, g.k, b, g.b.column_stride, o);
  }
}

template <class S, class T>
void with_rows(const SkinnyGemm& g, const Operands<T>& o) {
  if (g.m == 1) return multiply<1, S>(g, o);
  if (g.m == 2) return multiply<2, S>(g, o);
  if (g.m <= 4) return multiply<4, S>(g, o);
  multiply<8, S>(g, o);
}

template <class T, class S>
void copy_rows(const SkinnyGemm& g, T* to) {
  for (int64_t i = 0; i < g.m; ++i) {
    const S* row = elements<S>(g.a.data) + i * g.a.row_stride;
    for (int64_t p = 0; p < g.k; ++p) to[i * g.k + p] = widened(row[p * g.a.column_stride]);
  }
}

template <class T>
void ordered_gemm(const SkinnyGemm& g, T* scratch) {
  Operands<T> o;
  o.sums = scratch;
  scratch += kOrderedRows * kBlockColumns;
  o.c = static_cast<T*>(g.c);
  o.rows = g.m;
  o.c_stride = g.c_row_stride;
  o.depth_block = kernels::fma_engine(g.result).depth_block;
  o.accumulate = g.accumulate;
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
  for (int64_t r = 0; r < kOrderedRows; ++r) o.a[r] = first + HWY_MIN(r, g.m - 1) * stride;
  if (g.b.dtype == DType::bf16) return with_rows<BFloat16>(g, o);
  if (g.b.dtype == DType::f16) return with_rows<Float16>(g, o);
  with_rows<T>(g, o);
}
void ordered_gemm_f32(const SkinnyGemm& g, std::byte* scratch) {
  ordered_gemm(g, reinterpret_cast<float*>(scratch));
}
void ordered_gemm_f64(const SkinnyGemm& g, std::byte* scratch) {
  ordered_gemm(g, reinterpret_cast<double*>(scratch));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {
HWY_EXPORT(ordered_gemm_f32);
HWY_EXPORT(ordered_gemm_f64);
}  // namespace

namespace kernels {

std::size_t ordered_gemm_scratch_bytes(DType result, std::int64_t k) {
  return (static_cast<std::size_t>(kOrderedRows * (k + kSkinnyBlock)) * dtype_size(result) + 63) /
         64 * 64;
}

void ordered_gemm(const SkinnyGemm& problem, std::byte* scratch) {
  if (problem.result == DType::f64) {
    HWY_DYNAMIC_DISPATCH(ordered_gemm_f64)(problem, scratch);
  } else {
    HWY_DYNAMIC_DISPATCH(ordered_gemm_f32)(problem, scratch);
  }
}

}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE

// Rows of at most 16 elements, computed for one vector of rows at a time: lane r of vector i holds
// element i of row r. Reducing the lanes of one vector takes much longer than the arithmetic on a
// short row. Sums are added in the same order as the lanes of a vector that holds a row, so the
// bits of a row do not depend on how many rows there are. Included once per SIMD target.
#if defined(WEFT_OPS_KERNELS_SHORT_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_OPS_KERNELS_SHORT_ROWS_INL_H_
#undef WEFT_OPS_KERNELS_SHORT_ROWS_INL_H_
#else
#define WEFT_OPS_KERNELS_SHORT_ROWS_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int64_t kShortRow = 16;
/// Largest distance of two rows for which 32-bit offsets within a vector of rows are sufficient.
inline constexpr int64_t kShortRowStride = int64_t{1} << 24;

/// Returns true if rows of n elements should be computed with the functions below.
HWY_INLINE bool is_short_row(int64_t n, int64_t row_stride) {
  return n >= 1 && n <= kShortRow && row_stride <= kShortRowStride;
}

/// A vector of rows in memory, `row_stride` elements apart.
template <class D, class T = hn::TFromD<D>>
struct RowVectors {
  const T* x;
  hn::Vec<hn::RebindToSigned<D>> offsets;

  RowVectors(D, const T* first, int64_t row_stride) : x(first), offsets(at_stride(row_stride)) {}

  /// Returns element i of each row.
  HWY_INLINE hn::Vec<D> operator()(int64_t i) const { return hn::GatherIndex(D(), x + i, offsets); }
  /// Stores element i of each row to the rows at `to`, which have the same stride.
  HWY_INLINE void store(hn::Vec<D> v, T* to, int64_t i) const {
    hn::ScatterIndex(v, D(), to + i, offsets);
  }

 private:
  static hn::Vec<hn::RebindToSigned<D>> at_stride(int64_t row_stride) {
    const hn::RebindToSigned<D> di;
    using I = hn::TFromD<decltype(di)>;
    HWY_ALIGN I rows[hn::MaxLanes(D())];
    for (size_t r = 0; r < hn::Lanes(D()); ++r)
      rows[r] = static_cast<I>(r) * static_cast<I>(row_stride);
    return hn::Load(di, rows);
  }
};

/// Folds `count` (at least 1) vectors as the lanes of a vector with Lanes(d) lanes are folded: lane
/// i with lane i + width, for widths of half the number of lanes, a quarter and so on. Missing
/// lanes are neutral. Overwrites `lanes`.
template <class Op, class D>
HWY_INLINE hn::Vec<D> fold_vectors(D d, hn::Vec<D>* lanes, int64_t count) {
  for (int64_t width = static_cast<int64_t>(hn::Lanes(d)) / 2; width > 0; width /= 2) {
    for (int64_t i = 0; i + width < count; ++i) {
      lanes[i] = Op::combine(d, lanes[i], lanes[i + width]);
    }
    count = HWY_MIN(count, width);
  }
  return lanes[0];
}

struct AddVectors {
  template <class D>
  static HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> a, hn::Vec<D> b) {
    return hn::Add(a, b);
  }
};

/// Returns the sums of the rows' elements v[0], ..., v[n - 1], added like the lanes of whole
/// vectors of one row.
template <class D>
HWY_INLINE hn::Vec<D> sum_short_rows(D d, const hn::Vec<D>* v, int64_t n) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), count = HWY_MIN(n, lanes);
  hn::Vec<D> sums[kShortRow];
  for (int64_t lane = 0; lane < count; ++lane) {
    sums[lane] = hn::Add(hn::Zero(d), v[lane]);
    for (int64_t i = lane + lanes; i < n; i += lanes) sums[lane] = hn::Add(sums[lane], v[i]);
  }
  return fold_vectors<AddVectors>(d, sums, count);
}

/// As above, for the squares of the elements.
template <class D>
HWY_INLINE hn::Vec<D> sum_squares_of_short_rows(D d, const hn::Vec<D>* v, int64_t n) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), count = HWY_MIN(n, lanes);
  hn::Vec<D> sums[kShortRow];
  for (int64_t lane = 0; lane < count; ++lane) {
    sums[lane] = hn::MulAdd(v[lane], v[lane], hn::Zero(d));
    for (int64_t i = lane + lanes; i < n; i += lanes)
      sums[lane] = hn::MulAdd(v[i], v[i], sums[lane]);
  }
  return fold_vectors<AddVectors>(d, sums, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard

// SIMD helpers shared by all kernel families. Included once per SIMD target, from a file that uses
// hwy/foreach_target.h; all definitions are in weft::HWY_NAMESPACE.
//
// Names are in snake_case, so that argument-dependent lookup never finds a function with the same
// meaning in a newer version of Highway (LoadN, StoreN and ReduceSum do not exist in Highway
// 1.0.3).
#if defined(WEFT_OPS_KERNELS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_OPS_KERNELS_SIMD_INL_H_
#undef WEFT_OPS_KERNELS_SIMD_INL_H_
#else
#define WEFT_OPS_KERNELS_SIMD_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "hwy/highway.h"
#include "weft/ops/row_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The tag for the widest vector of T.
template <class T>
using Full = hn::ScalableTag<T>;

/// Returns a pointer to untyped memory as a pointer to elements of type T.
template <class T>
HWY_INLINE const T* elements(const void* p) {
  return static_cast<const T*>(p);
}
template <class T>
HWY_INLINE T* elements(void* p) {
  return static_cast<T*>(p);
}

// -- Partial vectors, so that the remainder of a row uses the same arithmetic as its body ---------

// True if masked loads and stores of T neither fault nor access elements past the end. On other
// targets (SSSE3), Highway 1.0.3 loads whole vectors, so a buffer is used.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
template <class T>
inline constexpr bool kSafeMasks = sizeof(T) >= 4;
#else
template <class T>
inline constexpr bool kSafeMasks = false;
#endif

/// Loads the first `count` lanes from `from` (0 <= count <= Lanes(d)) and sets the other lanes to
/// `fill`. Reads exactly `count` elements.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_part_or(T fill, D d, const T* from, size_t count) {
  if constexpr (kSafeMasks<T>) {
    const auto mask = hn::FirstN(d, count);
    return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, from), hn::Set(d, fill));
  } else {
    HWY_ALIGN T buffer[hn::MaxLanes(d)];
    hn::Store(hn::Set(d, fill), d, buffer);
    memcpy(buffer, from, count * sizeof(T));
    return hn::Load(d, buffer);
  }
}

/// As above, with zeros in the other lanes.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_part(D d, const T* from, size_t count) {
  if constexpr (kSafeMasks<T>) {
    return hn::MaskedLoad(hn::FirstN(d, count), d, from);
  } else {
    return load_part_or(T(0), d, from, count);
  }
}

/// Writes the first `count` lanes and nothing else.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_part(hn::Vec<D> v, D d, T* to, size_t count) {
  if constexpr (kSafeMasks<T>) {
    hn::BlendedStore(v, hn::FirstN(d, count), d, to);
  } else {
    HWY_ALIGN T buffer[hn::MaxLanes(d)];
    hn::Store(v, d, buffer);
    memcpy(to, buffer, count * sizeof(T));
  }
}

// -- Reductions over the lanes of one vector ------------------------------------------------------
//
// The SIMD target determines the order of operations, so the same CPU always returns the same bits.
// The results of max and min for NaN depend on the target, so NaN must be checked separately.

template <class D>
HWY_INLINE hn::TFromD<D> sum_lanes(D d, hn::Vec<D> v) {
  return hn::GetLane(hn::SumOfLanes(d, v));
}
template <class D>
HWY_INLINE hn::TFromD<D> max_lanes(D d, hn::Vec<D> v) {
  return hn::GetLane(hn::MaxOfLanes(d, v));
}
template <class D>
HWY_INLINE hn::TFromD<D> min_lanes(D d, hn::Vec<D> v) {
  return hn::GetLane(hn::MinOfLanes(d, v));
}

// -- Loading floats as doubles, for sums that need more than 24 bits -----------------------------

/// Loads and promotes one float for every lane of `d` (double).
template <class D>
HWY_INLINE hn::Vec<D> load_as_double(D d, const float* from) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), from));
}
template <class D>
HWY_INLINE hn::Vec<D> load_as_double(D d, const double* from) {
  return hn::LoadU(d, from);
}
/// As above, for the first `count` lanes; the other lanes are 0.
template <class D>
HWY_INLINE hn::Vec<D> load_part_as_double(D d, const float* from, size_t count) {
  return hn::PromoteTo(d, load_part(hn::Rebind<float, D>(), from, count));
}
template <class D>
HWY_INLINE hn::Vec<D> load_part_as_double(D d, const double* from, size_t count) {
  return load_part(d, from, count);
}

// -- Whole rows -----------------------------------------------------------------------------------
//
// `op` is a struct with the following member template:
//   template <class D> hn::Vec<D> operator()(D, hn::Vec<D>...) const
// The member is marked HWY_INLINE. `op` is a struct rather than a lambda, because some compilers do
// not apply the target to lambdas. An output may be identical to an input (in-place operation) but
// must not overlap it otherwise.

/// Computes out[i] = op(in[i]).
template <class T, class Op>
HWY_INLINE void map_row(const Op& op, const T* in, T* out, int64_t n) {
  const Full<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(op(d, hn::LoadU(d, in + i)), d, out + i);
  if (i < n) {
    const size_t rest = static_cast<size_t>(n - i);
    store_part(op(d, load_part(d, in + i, rest)), d, out + i, rest);
  }
}

/// Computes out[i] = op(a[i], b[i]). If ScalarA or ScalarB is true, this operand is a single
/// element for the whole row. Lanes past the end contain 1, so that divisions there do not raise
/// floating-point exceptions.
template <bool ScalarA, bool ScalarB, class T, class Op>
HWY_INLINE void map_row2(const Op& op, const T* a, const T* b, T* out, int64_t n) {
  const Full<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (n == 0) return;
  const auto a0 = hn::Set(d, a[0]);
  const auto b0 = hn::Set(d, b[0]);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    auto va = a0, vb = b0;
    if constexpr (!ScalarA) va = hn::LoadU(d, a + i);
    if constexpr (!ScalarB) vb = hn::LoadU(d, b + i);
    hn::StoreU(op(d, va, vb), d, out + i);
  }
  if (i < n) {
    const size_t rest = static_cast<size_t>(n - i);
    auto va = a0, vb = b0;
    if constexpr (!ScalarA) va = load_part_or(T(1), d, a + i, rest);
    if constexpr (!ScalarB) vb = load_part_or(T(1), d, b + i, rest);
    store_part(op(d, va, vb), d, out + i, rest);
  }
}

// Wrappers that turn the functions above into row kernel functions (ops/row_kernel.h) for ops
// without attributes.

template <class Op, class T>
void map_rows(const RowKernel&, const void* const* in, void* out, int64_t n, int64_t) {
  map_row(Op(), elements<T>(in[0]), elements<T>(out), n);
}

template <class Op, class T>
void map_rows2(const RowKernel& self, const void* const* in, void* out, int64_t n, int64_t) {
  const T* a = elements<T>(in[0]);
  const T* b = elements<T>(in[1]);
  if (self.scalar(0)) {
    map_row2<true, false>(Op(), a, b, elements<T>(out), n);
  } else if (self.scalar(1)) {
    map_row2<false, true>(Op(), a, b, elements<T>(out), n);
  } else {
    map_row2<false, false>(Op(), a, b, elements<T>(out), n);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard

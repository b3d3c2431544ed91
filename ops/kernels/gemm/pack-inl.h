// Functions that pack matrices into panels and convert their entries. Included once per SIMD
// target, from a file that uses hwy/foreach_target.h.
#if defined(WEFT_OPS_KERNELS_GEMM_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_OPS_KERNELS_GEMM_PACK_INL_H_
#undef WEFT_OPS_KERNELS_GEMM_PACK_INL_H_
#else
#define WEFT_OPS_KERNELS_GEMM_PACK_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "weft/core/dtype.h"
#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {

// Convert one element, or a vector of elements, to the type in which products are computed.
HWY_INLINE float widened(float x) { return x; }
HWY_INLINE double widened(double x) { return x; }
HWY_INLINE float widened(BFloat16 x) { return to_float(x); }
HWY_INLINE float widened(Float16 x) { return to_float(x); }

template <class D>
HWY_INLINE hn::Vec<D> load_widened(D d, const hn::TFromD<D>* from) {
  return hn::LoadU(d, from);
}
HWY_INLINE const hwy::bfloat16_t* as_half(const BFloat16* p) {
  return reinterpret_cast<const hwy::bfloat16_t*>(p);
}
HWY_INLINE const hwy::float16_t* as_half(const Float16* p) {
  return reinterpret_cast<const hwy::float16_t*>(p);
}
/// As above, for 16-bit elements.
template <class D, class S>
requires(sizeof(S) == 2) HWY_INLINE hn::Vec<D> load_widened(D d, const S* from) {
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(float)) {
    const hn::Rebind<std::remove_cv_t<std::remove_pointer_t<decltype(as_half(from))>>, D> half;
    return hn::PromoteTo(d, hn::LoadU(half, as_half(from)));
  } else {
    // Conversions from 16-bit elements to double are only used for gradient checks.
    HWY_ALIGN double buffer[hn::MaxLanes(d)];
    for (size_t i = 0; i < hn::MaxLanes(d); ++i) buffer[i] = widened(from[i]);
    return hn::Load(d, buffer);
  }
}

// Transposes kSquare x kSquare elements with 128-bit vectors: out[p * panel + i] = in[i * stride +
// p].
#if HWY_TARGET != HWY_SCALAR
template <class T>
inline constexpr int64_t kSquare = static_cast<int64_t>(16 / sizeof(T));

template <class S>
HWY_INLINE void transpose_square(const S* HWY_RESTRICT in, int64_t stride, int64_t panel,
                                 float* HWY_RESTRICT out) {
  const hn::FixedTag<float, 4> d;
  const auto r0 = load_widened(d, in);
  const auto r1 = load_widened(d, in + stride);
  const auto r2 = load_widened(d, in + 2 * stride);
  const auto r3 = load_widened(d, in + 3 * stride);
  const auto low01 = hn::InterleaveLower(d, r0, r1), high01 = hn::InterleaveUpper(d, r0, r1);
  const auto low23 = hn::InterleaveLower(d, r2, r3), high23 = hn::InterleaveUpper(d, r2, r3);
  hn::StoreU(hn::ConcatLowerLower(d, low23, low01), d, out);
  hn::StoreU(hn::ConcatUpperUpper(d, low23, low01), d, out + panel);
  hn::StoreU(hn::ConcatLowerLower(d, high23, high01), d, out + 2 * panel);
  hn::StoreU(hn::ConcatUpperUpper(d, high23, high01), d, out + 3 * panel);
}

template <class S>
HWY_INLINE void transpose_square(const S* HWY_RESTRICT in, int64_t stride, int64_t panel,
                                 double* HWY_RESTRICT out) {
  const hn::FixedTag<double, 2> d;
  const auto r0 = load_widened(d, in);
  const auto r1 = load_widened(d, in + stride);
  hn::StoreU(hn::InterleaveLower(d, r0, r1), d, out);
  hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, out + panel);
}
#else
template <class T>
inline constexpr int64_t kSquare = 1;

template <class S, class T>
HWY_INLINE void transpose_square(const S* in, int64_t, int64_t, T* out) {
  *out = widened(*in);
}
#endif

/// Converts and copies `n` consecutive elements.
template <class S, class T>
HWY_INLINE void copy_widened(const S* HWY_RESTRICT in, int64_t n, T* HWY_RESTRICT out) {
  const Full<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(load_widened(d, in + i), d, out + i);
  for (; i < n; ++i) out[i] = widened(in[i]);
}

inline constexpr int64_t kLinesAhead = 3, kRowsAhead = 16;

/// Packs one panel: out[p * kPanel + i] = in[i * across_stride + p * depth_stride], with zeros for
/// i >= across.
template <int kPanel, class S, class T>
void pack_panel(const S* HWY_RESTRICT in, int64_t across_stride, int64_t depth_stride,
                int64_t across, int64_t depth, T* HWY_RESTRICT out) {
  if (across_stride == 1) {
    if (across == kPanel) {
      for (int64_t p = 0; p < depth; ++p) {
        const S* ahead = in + (p + kRowsAhead) * depth_stride;
        __builtin_prefetch(ahead, 0, 2);
        __builtin_prefetch(ahead + kPanel - 1, 0, 2);
        copy_widened(in + p * depth_stride, kPanel, out + p * kPanel);
      }
    } else {
      for (int64_t p = 0; p < depth; ++p) {
        T* row = out + p * kPanel;
        copy_widened(in + p * depth_stride, across, row);
        for (int64_t i = across; i < kPanel; ++i) row[i] = T(0);
      }
    }
    return;
  }
  if (across < kPanel) {
    for (int64_t p = 0; p < depth; ++p) {
      for (int64_t i = across; i < kPanel; ++i) out[p * kPanel + i] = T(0);
    }
  }
  int64_t p = 0;
  if (depth_stride == 1) {
    // Read one cache line of every row at a time, so that the part of the panel that is being
    // written stays in the L1 cache. Hardware prefetchers track fewer streams than there are rows,
    // so later lines are prefetched explicitly.
    constexpr int64_t square = kSquare<T>, line = static_cast<int64_t>(64 / sizeof(S));
    const int64_t rows = across / square * square;
    for (; p + line <= depth; p += line) {
      for (int64_t i = 0; i < across; ++i)
        __builtin_prefetch(in + i * across_stride + p + kLinesAhead * line, 0, 2);
      for (int64_t i = 0; i < rows; i += square) {
        for (int64_t q = p; q < p + line; q += square) {
          transpose_square(in + i * across_stride + q, across_stride, kPanel, out + q * kPanel + i);
        }
      }
      for (int64_t i = rows; i < across; ++i) {
        for (int64_t q = p; q < p + line; ++q)
          out[q * kPanel + i] = widened(in[i * across_stride + q]);
      }
    }
  }
  for (int64_t i = 0; i < across; ++i) {
    for (int64_t q = p; q < depth; ++q) {
      out[q * kPanel + i] = widened(in[i * across_stride + q * depth_stride]);
    }
  }
}

/// As above, for a source with elements of type T, bf16 or f16.
template <int kPanel, class T>
void pack_source(const void* data, DType dtype, int64_t across_stride, int64_t depth_stride,
                 int64_t across, int64_t depth, T* out) {
  if (dtype == DType::bf16) {
    return pack_panel<kPanel>(elements<BFloat16>(data), across_stride, depth_stride, across, depth,
                              out);
  }
  if (dtype == DType::f16) {
    return pack_panel<kPanel>(elements<Float16>(data), across_stride, depth_stride, across, depth,
                              out);
  }
  pack_panel<kPanel>(elements<T>(data), across_stride, depth_stride, across, depth, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard

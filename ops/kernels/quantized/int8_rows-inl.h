// Reads rows of int8 numbers with one scale per row (quantized/int8_rows.h). Included once per SIMD
// target.
#if defined(WEFT_OPS_KERNELS_QUANTIZED_INT8_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_OPS_KERNELS_QUANTIZED_INT8_ROWS_INL_H_
#undef WEFT_OPS_KERNELS_QUANTIZED_INT8_ROWS_INL_H_
#else
#define WEFT_OPS_KERNELS_QUANTIZED_INT8_ROWS_INL_H_
#endif

#include "weft/ops/kernels/quantized/quantized_weights.h"
#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {

HWY_INLINE int64_t int8_row_bytes(int64_t size) { return size + kernels::kRowScaleBytes; }

/// Returns the scale of a row with `size` levels.
HWY_INLINE float int8_row_scale(const int8_t* row, int64_t size) {
  float scale;
  memcpy(&scale, row + size, sizeof(scale));
  return scale;
}

/// Loads one level for every lane.
template <class D>
HWY_INLINE hn::Vec<D> load_levels(D d, const int8_t* from) {
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(float)) {
    const hn::Rebind<int8_t, D> bytes;
    const hn::Rebind<int32_t, D> integers;
    return hn::ConvertTo(d, hn::PromoteTo(integers, hn::LoadU(bytes, from)));
  } else {
    HWY_ALIGN hn::TFromD<D> buffer[hn::MaxLanes(d)];
    for (size_t i = 0; i < hn::MaxLanes(d); ++i) buffer[i] = from[i];
    return hn::Load(d, buffer);
  }
}

/// Writes the `size` numbers of a row.
template <class T>
HWY_INLINE void widen_int8_row(const int8_t* row, int64_t size, T* to) {
  const Full<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const float scale = int8_row_scale(row, size);
  const auto factor = hn::Set(d, static_cast<T>(scale));
  int64_t x = 0;
  for (; x + lanes <= size; x += lanes)
    hn::StoreU(hn::Mul(load_levels(d, row + x), factor), d, to + x);
  for (; x < size; ++x) to[x] = static_cast<T>(static_cast<float>(row[x]) * scale);
}

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard

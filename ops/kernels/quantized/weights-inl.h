// Weights of quantised matrices as vectors of floats. Included once per SIMD target, from a file
// that uses hwy/foreach_target.h.
#if defined(WEFT_OPS_KERNELS_QUANTIZED_WEIGHTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_OPS_KERNELS_QUANTIZED_WEIGHTS_INL_H_
#undef WEFT_OPS_KERNELS_QUANTIZED_WEIGHTS_INL_H_
#else
#define WEFT_OPS_KERNELS_QUANTIZED_WEIGHTS_INL_H_
#endif

#include "weft/ops/kernels/quantized/quantized_weights.h"
#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

using kernels::QuantizedWeights;

constexpr int64_t kPanel = 16, kGroup = 32, kStep = 8;  // kStep: number of int4 inputs per lane
constexpr int64_t kStepBytes = kPanel * kStep / 2;

// A panel is 16 lanes wide and consists of one vector or several parts, depending on the vector
// size.
using Floats = hn::CappedTag<float, 16>;
using Words = hn::RebindToUnsigned<Floats>;
using Integers = hn::RebindToSigned<Floats>;
using V = hn::Vec<Floats>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Floats()));
constexpr int kParts = static_cast<int>(kPanel) / kLanes;
static_assert(kParts * kLanes == kPanel);

// The following weights are not yet multiplied by their scales.

// Returns weight `t` of the four weights in every lane.
template <int t>
HWY_INLINE V int8_weights(hn::Vec<Words> lanes) {
  const auto top = hn::BitCast(Integers(), hn::ShiftLeft<24 - 8 * t>(lanes));
  return hn::ConvertTo(Floats(), hn::ShiftRight<24>(top));
}

// Returns weight `t` of the eight weights in every lane.
template <int t>
HWY_INLINE V int4_weights(hn::Vec<Words> lanes) {
#if HWY_TARGET == HWY_AVX3
  // The permutation uses only the low four bits of its indices, so it combines the mask and the
  // table lookup.
  static const float kTable[16] = {0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1};
  const auto table = hn::LoadU(Floats(), kTable);
  return V{_mm512_permutexvar_ps(hn::ShiftRight<4 * t>(lanes).raw, table.raw)};
#else
  const auto top = hn::BitCast(Integers(), hn::ShiftLeft<28 - 4 * t>(lanes));
  return hn::ConvertTo(Floats(), hn::ShiftRight<28>(top));
#endif
}

HWY_INLINE V half_scales(const uint16_t* scale) {
  const hn::Rebind<hwy::float16_t, Floats> halves;
  const hn::Rebind<uint16_t, Floats> bits;
  return hn::PromoteTo(Floats(), hn::BitCast(halves, hn::LoadU(bits, scale)));
}

HWY_INLINE void load_words(const void* q, hn::Vec<Words>* words) {
#pragma GCC unroll 16
  for (int p = 0; p < kParts; ++p)
    words[p] = hn::LoadU(Words(), static_cast<const uint32_t*>(q) + p * kLanes);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#endif

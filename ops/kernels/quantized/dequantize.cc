// Conversion of quantised matrices to floats.
#include <stdint.h>

#include "weft/ops/kernels/quantized/quantized.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/quantized/dequantize.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/quantized/weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

template <int t>
HWY_INLINE void int4_rows(const hn::Vec<Words>* words, const V* scales, int64_t rows, float* out,
                          int64_t stride) {
  if (t >= rows) return;
#pragma GCC unroll 16
  for (int p = 0; p < kParts; ++p) {
    hn::StoreU(hn::Mul(int4_weights<t>(words[p]), scales[p]), Floats(),
               out + t * stride + p * kLanes);
  }
}

void int4_block(const QuantizedWeights& w, int64_t first, int64_t last, int64_t panel, float* out,
                int64_t stride) {
  const int64_t groups = (w.inputs + kGroup - 1) / kGroup;
  const uint8_t* q = static_cast<const uint8_t*>(w.q) + panel * groups * 4 * kStepBytes;
  const uint16_t* scale = static_cast<const uint16_t*>(w.scale) + panel * groups * kPanel;
  for (int64_t i = first; i < last; i += kStep) {
    V scales[kParts];
    hn::Vec<Words> words[kParts];
#pragma GCC unroll 16
    for (int p = 0; p < kParts; ++p) {
      scales[p] = half_scales(scale + i / kGroup * kPanel + p * kLanes);
    }
    load_words(q + i / kStep * kStepBytes, words);
    float* to = out + (i - first) * stride;
    const int64_t rows = last - i;
    int4_rows<0>(words, scales, rows, to, stride);
    int4_rows<1>(words, scales, rows, to, stride);
    int4_rows<2>(words, scales, rows, to, stride);
    int4_rows<3>(words, scales, rows, to, stride);
    int4_rows<4>(words, scales, rows, to, stride);
    int4_rows<5>(words, scales, rows, to, stride);
    int4_rows<6>(words, scales, rows, to, stride);
    int4_rows<7>(words, scales, rows, to, stride);
  }
}

template <int t>
HWY_INLINE void int8_rows(const hn::Vec<Words>* words, const V* scales, int64_t rows, float* out,
                          int64_t stride) {
  if (t >= rows) return;
#pragma GCC unroll 16
  for (int p = 0; p < kParts; ++p) {
    hn::StoreU(hn::Mul(int8_weights<t>(words[p]), scales[p]), Floats(),
               out + t * stride + p * kLanes);
  }
}

// Loads the scales of a panel of int8, or of the group of input i of a panel of q8_0.
HWY_INLINE void load_int8_scales(const QuantizedWeights& w, int64_t panel, int64_t i, V* scales) {
  const int64_t groups = (w.inputs + kGroup - 1) / kGroup;
#pragma GCC unroll 16
  for (int p = 0; p < kParts; ++p) {
    if (w.q8_0) {
      scales[p] = half_scales(static_cast<const uint16_t*>(w.scale) +
                              (panel * groups + i / kGroup) * kPanel + p * kLanes);
    } else {
      scales[p] =
          hn::LoadU(Floats(), static_cast<const float*>(w.scale) + panel * kPanel + p * kLanes);
    }
  }
}

void int8_block(const QuantizedWeights& w, int64_t first, int64_t last, int64_t panel, float* out,
                int64_t stride) {
  const int8_t* q = static_cast<const int8_t*>(w.q) + panel * ((w.inputs + 3) / 4) * 4 * kPanel;
  V scales[kParts];
  load_int8_scales(w, panel, first, scales);
  for (int64_t i = first; i < last; i += 4) {
    if (w.q8_0 && i % kGroup == 0) load_int8_scales(w, panel, i, scales);
    hn::Vec<Words> words[kParts];
    load_words(q + i * kPanel, words);
    float* to = out + (i - first) * stride;
    const int64_t rows = last - i;
    int8_rows<0>(words, scales, rows, to, stride);
    int8_rows<1>(words, scales, rows, to, stride);
    int8_rows<2>(words, scales, rows, to, stride);
    int8_rows<3>(words, scales, rows, to, stride);
  }
}

void block(const QuantizedWeights& w, int64_t first, int64_t last, int64_t begin, int64_t end,
           float* out, int64_t stride) {
  for (int64_t panel = begin; panel < end; ++panel) {
    float* to = out + (panel - begin) * kPanel;
    if (w.int4) {
      int4_block(w, first, last, panel, to, stride);
    } else {
      int8_block(w, first, last, panel, to, stride);
    }
  }
}

void channel(const QuantizedWeights& w, int64_t output, float* out) {
  // Convert 32 inputs of the whole panel at a time with vector code, and copy a single lane.
  HWY_ALIGN float tile[kGroup * kPanel];
  const int64_t panel = output / kPanel, lane = output % kPanel;
  for (int64_t i = 0; i < w.inputs; i += kGroup) {
    const int64_t last = HWY_MIN(w.inputs, i + kGroup);
    block(w, i, last, panel, panel + 1, tile, kPanel);
    for (int64_t r = i; r < last; ++r) out[r] = tile[(r - i) * kPanel + lane];
  }
}

// -- Int8 weights as bfloat16 numbers ------------------------------------------------------------

// Returns the power of two in a scale. An integer of eight bits times this power is a bfloat16
// number, and the other factor of the scale, in [1, 2), does not let results overflow earlier. The
// limits keep both factors finite for all scales.
HWY_INLINE V power_of_two(V scale) {
  const Words d;
  const auto exponent = hn::And(hn::BitCast(d, scale), hn::Set(d, 0x7F800000u));
  const auto least = hn::Set(d, 1u << 23), most = hn::Set(d, (127u + 100u) << 23);
  return hn::BitCast(Floats(), hn::Min(hn::Max(exponent, least), most));
}

template <int t>
HWY_INLINE void int8_bf16_rows(const hn::Vec<Words>* words, const V* factors, int64_t rows,
                               uint16_t* out, int64_t stride) {
  if (t >= rows) return;
  const hn::Rebind<uint16_t, Floats> half;
#pragma GCC unroll 16
  for (int p = 0; p < kParts; ++p) {
    const V weights = hn::Mul(int8_weights<t>(words[p]), factors[p]);
    const auto upper = hn::ShiftRight<16>(hn::BitCast(Words(), weights));
    hn::StoreU(hn::DemoteTo(half, hn::BitCast(Integers(), upper)), half,
               out + t * stride + p * kLanes);
  }
}

void bf16_block(const QuantizedWeights& w, int64_t first, int64_t last, int64_t begin, int64_t end,
                BFloat16* out, int64_t stride) {
  for (int64_t panel = begin; panel < end; ++panel) {
    const int8_t* q = static_cast<const int8_t*>(w.q) + panel * ((w.inputs + 3) / 4) * 4 * kPanel;
    const float* scale = static_cast<const float*>(w.scale) + panel * kPanel;
    V factors[kParts];
#pragma GCC unroll 16
    for (int p = 0; p < kParts; ++p)
      factors[p] = power_of_two(hn::LoadU(Floats(), scale + p * kLanes));
    for (int64_t i = first; i < last; i += 4) {
      hn::Vec<Words> words[kParts];
      load_words(q + i * kPanel, words);
      auto* to = reinterpret_cast<uint16_t*>(out) + (i - first) * stride + (panel - begin) * kPanel;
      const int64_t rows = last - i;
      int8_bf16_rows<0>(words, factors, rows, to, stride);
      int8_bf16_rows<1>(words, factors, rows, to, stride);
      int8_bf16_rows<2>(words, factors, rows, to, stride);
      int8_bf16_rows<3>(words, factors, rows, to, stride);
    }
  }
}

void scale_block(const QuantizedWeights& w, int64_t first, int64_t columns, int64_t rows, float* c,
                 int64_t stride) {
  const Floats d;
  constexpr int64_t kMost = 256;
  HWY_ALIGN float factors[kMost];
  for (int64_t j0 = 0; j0 < columns; j0 += kMost) {
    const int64_t width = HWY_MIN(columns - j0, kMost);
    const float* scale = static_cast<const float*>(w.scale) + first + j0;
    for (int64_t j = 0; j < width; j += kLanes) {  // scales are padded to whole panels
      const V scales = hn::LoadU(d, scale + j);
      hn::Store(hn::Div(scales, power_of_two(scales)), d, factors + j);
    }
    for (int64_t r = 0; r < rows; ++r) {
      float* row = c + r * stride + j0;
      int64_t j = 0;
      for (; j + kLanes <= width; j += kLanes)
        hn::StoreU(hn::Mul(hn::LoadU(d, row + j), hn::Load(d, factors + j)), d, row + j);
      for (; j < width; ++j) row[j] *= factors[j];
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {
namespace {
HWY_EXPORT(block);
HWY_EXPORT(channel);
HWY_EXPORT(bf16_block);
HWY_EXPORT(scale_block);
}  // namespace

void dequantize_block(const QuantizedWeights& w, std::int64_t first, std::int64_t last,
                      std::int64_t begin, std::int64_t end, float* out, std::int64_t stride) {
  HWY_DYNAMIC_DISPATCH(block)(w, first, last, begin, end, out, stride);
}
void dequantize_bf16_block(const QuantizedWeights& w, std::int64_t first, std::int64_t last,
                           std::int64_t begin, std::int64_t end, BFloat16* out,
                           std::int64_t stride) {
  HWY_DYNAMIC_DISPATCH(bf16_block)(w, first, last, begin, end, out, stride);
}
void scale_columns(const QuantizedWeights& w, std::int64_t first, std::int64_t columns,
                   std::int64_t rows, float* c, std::int64_t stride) {
  HWY_DYNAMIC_DISPATCH(scale_block)(w, first, columns, rows, c, stride);
}
void dequantize_channel(const QuantizedWeights& w, std::int64_t output, float* out) {
  HWY_DYNAMIC_DISPATCH(channel)(w, output, out);
}

}  // namespace weft::kernels
#endif

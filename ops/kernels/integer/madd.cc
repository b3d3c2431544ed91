// Products of pairs of 16-bit integers (PMADDWD), which cannot overflow, with the vectors of the
// SIMD target; other CPUs multiply 32-bit integers. Weights and levels are widened, so the result
// is exact without a correction. PMADDUBSW, which multiplies bytes, saturates at 16 bits.
//
// A prepared row consists of pairs of 16-bit levels, in the order in which shifts widen the weights
// of a 32-bit lane:
//   int8, q8_0   inputs (0, 2), (1, 3) of every four
//   int4         inputs (0, 4), (1, 5), (2, 6), (3, 7) of every eight
#include <stdint.h>
#include <string.h>

#include "weft/ops/kernels/integer/integer_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/integer/madd.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

using kernels::QuantizedWeights;

constexpr int64_t kPanel = 16, kGroup = 32;
constexpr int kRows = 4;

using Floats = hn::CappedTag<float, 16>;
using Integers = hn::RebindToSigned<Floats>;
using I = hn::Vec<Integers>;
using F = hn::Vec<Floats>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Floats()));
constexpr int kParts = static_cast<int>(kPanel) / kLanes;

// -- Two products of 16-bit integers per 32-bit lane ----------------------------------------------

/// Returns weights (t, t + 2) of the four weights in every lane, for t < 2, as 16-bit integers.
template <int t>
HWY_INLINE I int8_pairs(I lanes) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3
  const hn::Repartition<int16_t, Integers> d;
  const auto v = hn::BitCast(d, lanes);
  return hn::BitCast(Integers(), hn::ShiftRight<8>(t == 0 ? hn::ShiftLeft<8>(v) : v));
#else
  const auto low = hn::ShiftRight<24>(hn::ShiftLeft<24 - 8 * t>(lanes));
  const auto high = hn::ShiftRight<24>(hn::ShiftLeft<8 - 8 * t>(lanes));
  return hn::Or(hn::ShiftLeft<16>(high), hn::And(low, hn::Set(Integers(), 0xFFFF)));
#endif
}

/// Returns weights (t, t + 4) of the eight weights in every lane, for t < 4.
template <int t>
HWY_INLINE I int4_pairs(I lanes) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3
  const hn::Repartition<int16_t, Integers> d;
  const auto v = hn::BitCast(d, lanes);
  return hn::BitCast(Integers(), hn::ShiftRight<12>(hn::ShiftLeft<12 - 4 * t>(v)));
#else
  const auto low = hn::ShiftRight<28>(hn::ShiftLeft<28 - 4 * t>(lanes));
  const auto high = hn::ShiftRight<28>(hn::ShiftLeft<12 - 4 * t>(lanes));
  return hn::Or(hn::ShiftLeft<16>(high), hn::And(low, hn::Set(Integers(), 0xFFFF)));
#endif
}

/// Returns sum + the products of both pairs.
HWY_INLINE I add_products(I sum, I a, I b) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  return hn::Add(sum, I{_mm512_madd_epi16(a.raw, b.raw)});
#elif HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  return hn::Add(sum, I{_mm256_madd_epi16(a.raw, b.raw)});
#elif HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3
  return hn::Add(sum, I{_mm_madd_epi16(a.raw, b.raw)});
#else
  const auto low = [](I v) HWY_ATTR { return hn::ShiftRight<16>(hn::ShiftLeft<16>(v)); };
  const I high = hn::Mul(hn::ShiftRight<16>(a), hn::ShiftRight<16>(b));
  return hn::Add(sum, hn::Add(high, hn::Mul(low(a), low(b))));
#endif
}

// -- Rows -----------------------------------------------------------------------------------------

int64_t groups_of(const QuantizedWeights& w) { return (w.inputs + kGroup - 1) / kGroup; }
size_t row_bytes(const QuantizedWeights& w) { return static_cast<size_t>(groups_of(w)) * 64; }

void prepare(const QuantizedWeights& w, const int8_t* levels, int64_t rows, std::byte* to) {
  auto* out = reinterpret_cast<int16_t*>(to);
  for (int64_t r = 0; r < rows; ++r, levels += w.inputs) {
    for (int64_t g = 0; g < w.inputs; g += kGroup, out += kGroup) {
      int8_t group[kGroup] = {};
      memcpy(group, levels + g, static_cast<size_t>(HWY_MIN(kGroup, w.inputs - g)));
      const int64_t half = w.int4 ? 4 : 2;
      for (int64_t i = 0; i < kGroup; i += 2 * half) {
        for (int64_t t = 0; t < half; ++t) {
          out[i + 2 * t] = group[i + t];
          out[i + 2 * t + 1] = group[i + t + half];
        }
      }
    }
  }
}

// -- Products -------------------------------------------------------------------------------------

HWY_INLINE F half_scales(const uint16_t* scale) {
  const hn::Rebind<hwy::float16_t, Floats> halves;
  const hn::Rebind<uint16_t, Floats> bits;
  return hn::PromoteTo(Floats(), hn::BitCast(halves, hn::LoadU(bits, scale)));
}

template <int kCount>
struct Block {
  const int32_t* rows[kCount];  // pairs
  I sums[kCount][kParts];

  HWY_INLINE void clear() {
#pragma GCC unroll 4
    for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 16
      for (int p = 0; p < kParts; ++p) sums[r][p] = hn::Zero(Integers());
    }
  }
  HWY_INLINE void add(int part, I weights, int64_t pair) {
#pragma GCC unroll 4
    for (int r = 0; r < kCount; ++r)
      sums[r][part] = add_products(sums[r][part], weights, hn::Set(Integers(), rows[r][pair]));
  }
  /// Adds the products of word `word` of the weights.
  HWY_INLINE void add_word(const int32_t* q, int64_t word, bool int4) {
#pragma GCC unroll 16
    for (int p = 0; p < kParts; ++p) {
      const I lanes = hn::LoadU(Integers(), q + word * kPanel + p * kLanes);
      if (int4) {
        add(p, int4_pairs<0>(lanes), 4 * word);
        add(p, int4_pairs<1>(lanes), 4 * word + 1);
        add(p, int4_pairs<2>(lanes), 4 * word + 2);
        add(p, int4_pairs<3>(lanes), 4 * word + 3);
      } else {
        add(p, int8_pairs<0>(lanes), 2 * word);
        add(p, int8_pairs<1>(lanes), 2 * word + 1);
      }
    }
  }
};

HWY_INLINE void store_panel_part(F v, float* y, int64_t outputs, int64_t j) {
  const Floats d;
  if (j + kLanes <= outputs) {
    hn::StoreU(v, d, y + j);
  } else if (j < outputs) {
    store_part(v, d, y + j, static_cast<size_t>(outputs - j));
  }
}

template <int kCount>
void int8_panel(const QuantizedWeights& w, Block<kCount>& block, const float* steps, int64_t panel,
                float* y, int64_t stride) {
  const Floats d;
  const int64_t words = (w.inputs + 3) / 4;
  const auto* q = static_cast<const int32_t*>(w.q) + panel * words * kPanel;
  const float* scale = static_cast<const float*>(w.scale);
  block.clear();
  for (int64_t i = 0; i < words; ++i) block.add_word(q, i, false);
#pragma GCC unroll 16
  for (int p = 0; p < kParts; ++p) {
    const int64_t column = panel * kPanel + p * kLanes;
    const I start =
        w.start == nullptr ? hn::Zero(Integers()) : hn::LoadU(Integers(), w.start + column);
#pragma GCC unroll 4
    for (int r = 0; r < kCount; ++r) {
      const I sum = hn::Add(block.sums[r][p], start);
      F result = hn::BitCast(d, sum);
      if (scale != nullptr) {
        const F product = hn::Mul(hn::ConvertTo(d, sum), hn::Set(d, steps[r]));
        result = hn::Mul(product, hn::LoadU(d, scale + column));
      }
      store_panel_part(result, y + r * stride, w.outputs, column);
    }
  }
}

template <int kCount, bool kInt4>
void grouped_panel(const QuantizedWeights& w, Block<kCount>& block, const float* steps,
                   int64_t panel, float* y, int64_t stride) {
  const Floats d;
  const int64_t groups = groups_of(w), group_words = kInt4 ? 4 : 8;
  const int64_t words = kInt4 ? groups * 4 : (w.inputs + 3) / 4;
  const auto* q = static_cast<const int32_t*>(w.q) + panel * words * kPanel;
  const uint16_t* scale = static_cast<const uint16_t*>(w.scale) + panel * groups * kPanel;
  F totals[kCount][kParts];
  for (auto& row : totals) {
    for (F& total : row) total = hn::Zero(d);
  }
  for (int64_t g = 0; g < groups; ++g) {
    block.clear();
    const int64_t end = HWY_MIN(words, (g + 1) * group_words);
    for (int64_t i = g * group_words; i < end; ++i) block.add_word(q, i, kInt4);
#pragma GCC unroll 16
    for (int p = 0; p < kParts; ++p) {
      const F scales = half_scales(scale + g * kPanel + p * kLanes);
#pragma GCC unroll 4
      for (int r = 0; r < kCount; ++r) {
        const F sum = hn::ConvertTo(d, block.sums[r][p]);
        totals[r][p] = hn::Add(totals[r][p], hn::Mul(sum, scales));
      }
    }
  }
  for (int r = 0; r < kCount; ++r) {
    for (int p = 0; p < kParts; ++p) {
      store_panel_part(hn::Mul(totals[r][p], hn::Set(d, steps[r])), y + r * stride, w.outputs,
                       panel * kPanel + p * kLanes);
    }
  }
}

template <int kCount>
void row_block(const QuantizedWeights& w, const std::byte* prepared, const float* steps,
               int64_t panel, float* y, int64_t stride) {
  Block<kCount> block;
  for (int r = 0; r < kCount; ++r) {
    block.rows[r] =
        reinterpret_cast<const int32_t*>(prepared + static_cast<size_t>(r) * row_bytes(w));
  }
  if (w.int4) {
    grouped_panel<kCount, true>(w, block, steps, panel, y, stride);
  } else if (w.q8_0) {
    grouped_panel<kCount, false>(w, block, steps, panel, y, stride);
  } else {
    int8_panel(w, block, steps, panel, y, stride);
  }
}

void product(const QuantizedWeights& w, const std::byte* prepared, const float* steps, int64_t rows,
             int64_t begin, int64_t end, float* y, int64_t stride) {
  for (int64_t panel = begin; panel < end; ++panel) {
    int64_t r = 0;
    const auto at = [&](int64_t row) { return prepared + static_cast<size_t>(row) * row_bytes(w); };
    for (; r + kRows <= rows; r += kRows)
      row_block<kRows>(w, at(r), steps + r, panel, y + r * stride, stride);
    for (; r < rows; ++r) row_block<1>(w, at(r), steps + r, panel, y + r * stride, stride);
  }
}

/// Twelve chains hide the latency of all current units and fit into 16 registers.
double chains(int64_t rounds) {
  constexpr int kChains = 12;
  const I weights = hn::Set(Integers(), 0x00010002), levels = hn::Set(Integers(), 0x00030004);
  I sums[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) sums[i] = hn::Set(Integers(), i);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = add_products(sums[i], weights, levels);
  }
  I sum = sums[0];
#pragma GCC unroll 12
  for (int i = 1; i < kChains; ++i) sum = hn::Add(sum, sums[i]);
  volatile int32_t sink = hn::GetLane(sum);  // the compiler must not remove the loop
  static_cast<void>(sink);
  return static_cast<double>(rounds) * kChains * kLanes * 2;
}

/// Returns the unit of the CPU that belongs to the SIMD target, so that tests that force a
/// different target test the instructions of this target.
kernels::IntegerUnit unit() {
  using kernels::IntegerUnit;
  IntegerUnit best = IntegerUnit::madd;
  for (const IntegerUnit available : kernels::integer_units()) {
    const bool wide = available == IntegerUnit::vnni || available == IntegerUnit::amx_int8;
    if (HWY_TARGET == HWY_AVX3 && wide) best = available;
    if (HWY_TARGET == HWY_AVX2 && available == IntegerUnit::avx_vnni) best = available;
  }
  return best;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {
namespace {
HWY_EXPORT(row_bytes);
HWY_EXPORT(prepare);
HWY_EXPORT(product);
HWY_EXPORT(unit);
HWY_EXPORT(chains);

std::size_t madd_row_bytes(const QuantizedWeights& w) { return HWY_DYNAMIC_DISPATCH(row_bytes)(w); }
void madd_prepare(const QuantizedWeights& w, const std::int8_t* levels, std::int64_t rows,
                  std::byte* prepared) {
  HWY_DYNAMIC_DISPATCH(prepare)(w, levels, rows, prepared);
}
void madd_product(const QuantizedWeights& w, const std::byte* prepared, const float* steps,
                  std::int64_t rows, std::int64_t begin, std::int64_t end, float* y,
                  std::int64_t stride) {
  HWY_DYNAMIC_DISPATCH(product)(w, prepared, steps, rows, begin, end, y, stride);
}
double madd_chains(std::int64_t rounds) { return HWY_DYNAMIC_DISPATCH(chains)(rounds); }
constexpr IntegerKernels kMadd = {madd_row_bytes, madd_prepare, madd_product, madd_chains};
}  // namespace

const IntegerKernels& madd_kernels() { return kMadd; }
IntegerUnit integer_unit() { return HWY_DYNAMIC_DISPATCH(unit)(); }

}  // namespace weft::kernels
#endif

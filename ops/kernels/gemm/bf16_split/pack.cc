#include "weft/ops/kernels/gemm/bf16_split/pack.h"

#include <algorithm>
#include <cstring>

#include "weft/ops/kernels/gemm/bf16_split/panel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/gemm/bf16_split/pack.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must be included before the headers below.
#include <hwy/highway.h>

#ifndef WEFT_OPS_KERNELS_SPLIT_PACK_STAGE
#define WEFT_OPS_KERNELS_SPLIT_PACK_STAGE
namespace weft::kernels {
namespace {

// The entries of a tile before they are split into terms: 16 rows or columns x 32 entries along K,
// of type float or BFloat16.
template <class T>
struct Cell {
  const T* data;
  std::int64_t across_stride, depth_stride;  // one of them is 1
};

float float_at(const MatrixSource& m, std::int64_t index) {
  switch (m.dtype) {
    case DType::bf16: return to_float(static_cast<const BFloat16*>(m.data)[index]);
    case DType::f16: return to_float(static_cast<const Float16*>(m.data)[index]);
    default: return static_cast<const float*>(m.data)[index];
  }
}

// Copies the part of a cell that is inside the matrix, in the direction in which the source is
// contiguous, and fills the rest with zeros.
Cell<float> stage(const MatrixSource& m, std::int64_t across, std::int64_t depth, float* staged) {
  const bool along_across = m.row_stride == 1;
  const std::int64_t outer = along_across ? depth : across, inner = along_across ? across : depth;
  const std::int64_t outer_stride = along_across ? m.column_stride : m.row_stride;
  const std::int64_t inner_stride = along_across ? m.row_stride : m.column_stride;
  const std::int64_t width = along_across ? kTileSide : kTileDepth;
  if (across < kTileSide || depth < kTileDepth) std::fill_n(staged, kTileSide * kTileDepth, 0.0f);
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < inner; ++i) {
      staged[o * width + i] = float_at(m, o * outer_stride + i * inner_stride);
    }
  }
  return along_across ? Cell<float>{staged, 1, width} : Cell<float>{staged, width, 1};
}

}  // namespace
}  // namespace weft::kernels
#endif  // WEFT_OPS_KERNELS_SPLIT_PACK_STAGE

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Vectors with at most 16 lanes.
using DF = hn::CappedTag<float, 16>;
using DU = hn::RebindToUnsigned<DF>;
using DU16 = hn::Repartition<uint16_t, DU>;
using VF = hn::Vec<DF>;
using VU = hn::Vec<DU>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));

// The extreme magnitudes so far. They are stored with one vector per row or column if the source is
// contiguous along K, and with one lane per row or column otherwise.
struct Magnitudes {
  HWY_ALIGN uint32_t largest_along[kBf16Panel * kLanes], smallest_along[kBf16Panel * kLanes];
  HWY_ALIGN uint32_t largest[kBf16Panel], smallest[kBf16Panel];
};

HWY_INLINE VF LoadFloats(const float* from) { return hn::LoadU(DF(), from); }
HWY_INLINE VF LoadFloats(const BFloat16* from) {
  const hn::Rebind<uint16_t, DF> half;
  const auto bits = hn::LoadU(half, reinterpret_cast<const uint16_t*>(from));
  return hn::BitCast(DF(), hn::ShiftLeft<16>(hn::PromoteTo(DU(), bits)));
}

HWY_INLINE void Note(VU bits, VU& largest, VU& smallest) {
  const DU d;
  const VU magnitude = hn::And(bits, hn::Set(d, 0x7FFFFFFFu));
  largest = hn::Max(largest, magnitude);
  // Subtract one, so that zeros wrap around to the largest number and are ignored.
  smallest = hn::Min(smallest, hn::Sub(magnitude, hn::Set(d, 1u)));
}

// Returns x rounded to bfloat16 in the upper halves of the lanes; the lower halves are arbitrary.
HWY_INLINE VU RoundToUpperHalf(VU x) {
  const DU d;
  const VU odd = hn::And(hn::ShiftRight<16>(x), hn::Set(d, 1u));
  return hn::Add(x, hn::Add(odd, hn::Set(d, 0x7FFFu)));
}

HWY_INLINE VU UpperHalf(VU x) { return hn::And(x, hn::Set(DU(), 0xFFFF0000u)); }

// Returns x minus the rounded term. The subtraction is exact.
HWY_INLINE VF Rest(VF x, VU rounded) { return hn::Sub(x, hn::BitCast(DF(), UpperHalf(rounded))); }

// Transposes 16 x 16 pairs from `in` to `out`.
HWY_INLINE void Transpose(const uint32_t* HWY_RESTRICT in, uint32_t* HWY_RESTRICT out) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t i = 0; i < kTileSide; ++i) {
    for (int64_t j = 0; j < kTileSide; ++j) out[j * kTileSide + i] = in[i * kTileSide + j];
  }
#else
  const hn::FixedTag<uint32_t, 4> d;
  for (int64_t i = 0; i < kTileSide; i += 4) {
    for (int64_t j = 0; j < kTileSide; j += 4) {
      const uint32_t* from = in + i * kTileSide + j;
      uint32_t* to = out + j * kTileSide + i;
      const auto r0 = hn::Load(d, from), r1 = hn::Load(d, from + kTileSide);
      const auto r2 = hn::Load(d, from + 2 * kTileSide), r3 = hn::Load(d, from + 3 * kTileSide);
      const auto low01 = hn::InterleaveLower(d, r0, r1), high01 = hn::InterleaveUpper(d, r0, r1);
      const auto low23 = hn::InterleaveLower(d, r2, r3), high23 = hn::InterleaveUpper(d, r2, r3);
      hn::Store(hn::ConcatLowerLower(d, low23, low01), d, to);
      hn::Store(hn::ConcatUpperUpper(d, low23, low01), d, to + kTileSide);
      hn::Store(hn::ConcatLowerLower(d, high23, high01), d, to + 2 * kTileSide);
      hn::Store(hn::ConcatUpperUpper(d, high23, high01), d, to + 3 * kTileSide);
    }
  }
#endif
}

// Writes tiles pair by pair from a cell that is contiguous across rows or columns. Vectors hold
// neighbouring rows or columns.
template <int kTerms, class T>
HWY_INLINE void SplitAcross(const Cell<T>& cell, uint32_t* HWY_RESTRICT tile, int64_t term_stride,
                            uint32_t* HWY_RESTRICT largest, uint32_t* HWY_RESTRICT smallest) {
  const DU du;
  for (int64_t i = 0; i < kTileSide; i += kLanes) {
    VU high = hn::Load(du, largest + i), low = hn::Load(du, smallest + i);
    for (int64_t q = 0; q < kTileSide; ++q) {
      const T* from = cell.data + 2 * q * cell.depth_stride + i;
      // Prefetch the next cell.
      __builtin_prefetch(from + kTileDepth * cell.depth_stride, 0, 2);
      __builtin_prefetch(from + (kTileDepth + 1) * cell.depth_stride, 0, 2);
      VF even = LoadFloats(from), odd = LoadFloats(from + cell.depth_stride);
      Note(hn::BitCast(du, even), high, low);
      Note(hn::BitCast(du, odd), high, low);
#pragma GCC unroll 3
      for (int t = 0; t < kTerms; ++t) {
        const VU even_bits = RoundToUpperHalf(hn::BitCast(du, even));
        const VU odd_bits = RoundToUpperHalf(hn::BitCast(du, odd));
        hn::Store(hn::Or(hn::ShiftRight<16>(even_bits), UpperHalf(odd_bits)), du,
                  tile + t * term_stride + q * kTileSide + i);
        if (t + 1 < kTerms) {
          even = Rest(even, even_bits);
          odd = Rest(odd, odd_bits);
        }
      }
    }
    hn::Store(high, du, largest + i);
    hn::Store(low, du, smallest + i);
  }
}

// Writes tiles row by row from a cell that is contiguous along K. Vectors hold neighbouring entries
// along K.
template <int kTerms, class T>
HWY_INLINE void SplitAlong(const Cell<T>& cell, uint32_t* HWY_RESTRICT tile, int64_t term_stride,
                           uint32_t* HWY_RESTRICT largest, uint32_t* HWY_RESTRICT smallest) {
  const DU du;
  for (int64_t i = 0; i < kTileSide; ++i) {
    VU high = hn::Load(du, largest + i * kLanes), low = hn::Load(du, smallest + i * kLanes);
    for (int64_t p = 0; p < kTileDepth; p += 2 * kLanes) {
      const T* from = cell.data + i * cell.across_stride + p;
      __builtin_prefetch(from + kTileDepth, 0, 2);
      __builtin_prefetch(from + kTileDepth + kLanes, 0, 2);
      VF first = LoadFloats(from), second = LoadFloats(from + kLanes);
      Note(hn::BitCast(du, first), high, low);
      Note(hn::BitCast(du, second), high, low);
#pragma GCC unroll 3
      for (int t = 0; t < kTerms; ++t) {
        const VU first_bits = RoundToUpperHalf(hn::BitCast(du, first));
        const VU second_bits = RoundToUpperHalf(hn::BitCast(du, second));
#if HWY_TARGET == HWY_SCALAR
        const VU pairs = hn::Or(hn::ShiftRight<16>(first_bits), UpperHalf(second_bits));
#else
        const DU16 d16;
        const VU pairs = hn::BitCast(
            du, hn::ConcatOdd(d16, hn::BitCast(d16, second_bits), hn::BitCast(d16, first_bits)));
#endif
        hn::Store(pairs, du, tile + t * term_stride + i * kTileSide + p / 2);
        if (t + 1 < kTerms) {
          first = Rest(first, first_bits);
          second = Rest(second, second_bits);
        }
      }
    }
    hn::Store(high, du, largest + i * kLanes);
    hn::Store(low, du, smallest + i * kLanes);
  }
}

template <OperandSide kSide, int kTerms, class T>
void PackCell(const Cell<T>& cell, int64_t first, uint32_t* tile, int64_t term_stride,
              Magnitudes& magnitudes) {
  const bool across = cell.across_stride == 1;
  const bool transpose = across == (kSide == OperandSide::a);
  HWY_ALIGN uint32_t turned[3 * kTileSide * kTileSide];
  uint32_t* const to = transpose ? turned : tile;
  const int64_t stride = transpose ? kTileSide * kTileSide : term_stride;
  if (across) {
    SplitAcross<kTerms>(cell, to, stride, magnitudes.largest + first, magnitudes.smallest + first);
  } else {
    SplitAlong<kTerms>(cell, to, stride, magnitudes.largest_along + first * kLanes,
                       magnitudes.smallest_along + first * kLanes);
  }
  if (!transpose) return;
  for (int t = 0; t < kTerms; ++t) {
    Transpose(turned + t * kTileSide * kTileSide, tile + t * term_stride);
  }
}

void WriteRange(const Magnitudes& magnitudes, PanelRange& range) {
  range.panel_largest = 0;
  range.panel_smallest = ~0u;
  for (int64_t i = 0; i < kBf16Panel; ++i) {
    uint32_t largest = magnitudes.largest[i], smallest = magnitudes.smallest[i];
    for (int64_t l = i * kLanes; l < (i + 1) * kLanes; ++l) {
      largest = std::max(largest, magnitudes.largest_along[l]);
      smallest = std::min(smallest, magnitudes.smallest_along[l]);
    }
    if (smallest != ~0u) ++smallest;
    range.largest[i] = largest;
    range.smallest[i] = smallest;
    range.panel_largest = std::max(range.panel_largest, largest);
    range.panel_smallest = std::min(range.panel_smallest, smallest);
  }
}

template <OperandSide kSide, int kTerms>
void PackPanels(const MatrixSource& m, int64_t across, int64_t depth, std::byte* panels) {
  constexpr int64_t tile = kTileSide * kTileSide;  // in pairs
  Magnitudes magnitudes;
  HWY_ALIGN float staged[kTileSide * kTileDepth];
  for (int64_t i0 = 0; i0 < across; i0 += kBf16Panel) {
    std::fill(magnitudes.largest_along, magnitudes.largest_along + kBf16Panel * kLanes, 0u);
    std::fill(magnitudes.smallest_along, magnitudes.smallest_along + kBf16Panel * kLanes, ~0u);
    std::fill(magnitudes.largest, magnitudes.largest + kBf16Panel, 0u);
    std::fill(magnitudes.smallest, magnitudes.smallest + kBf16Panel, ~0u);
    uint32_t* const tiles = reinterpret_cast<uint32_t*>(panels + sizeof(PanelRange));
    for (int64_t half = 0; half < 2 && i0 + half * kTileSide < across; ++half) {
      const int64_t i = i0 + half * kTileSide, rows = std::min(kTileSide, across - i);
      for (int64_t p = 0; p < depth; p += kTileDepth) {
        const MatrixSource from = m.from(i, p);
        const int64_t ks = std::min(kTileDepth, depth - p);
        const bool direct =
            rows == kTileSide && ks == kTileDepth && (m.row_stride == 1 || m.column_stride == 1);
        uint32_t* const to = tiles + (p / kTileDepth * kTerms * 2 + half) * tile;
        const auto pack = [&](const auto& cell) HWY_ATTR {
          PackCell<kSide, kTerms>(cell, half * kTileSide, to, 2 * tile, magnitudes);
        };
        if (direct && m.dtype == DType::f32) {
          pack(Cell<float>{static_cast<const float*>(from.data), m.row_stride, m.column_stride});
        } else if (direct && m.dtype == DType::bf16) {
          pack(Cell<BFloat16>{static_cast<const BFloat16*>(from.data), m.row_stride,
                              m.column_stride});
        } else {
          pack(stage(from, rows, ks, staged));
        }
      }
    }
    WriteRange(magnitudes, *reinterpret_cast<PanelRange*>(panels));
    panels += bf16_panel_bytes(kTerms, depth);
  }
}

template <OperandSide kSide>
void PackSide(int terms, const MatrixSource& m, int64_t across, int64_t depth, std::byte* panels) {
  switch (terms) {
    case 1: return PackPanels<kSide, 1>(m, across, depth, panels);
    case 2: return PackPanels<kSide, 2>(m, across, depth, panels);
    default: return PackPanels<kSide, 3>(m, across, depth, panels);
  }
}

void PackTerms(OperandSide side, int terms, const MatrixSource& m, int64_t across, int64_t depth,
               std::byte* panels) {
  if (side == OperandSide::a) {
    PackSide<OperandSide::a>(terms, m, across, depth, panels);
  } else {
    PackSide<OperandSide::b>(terms, m, across, depth, panels);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(PackTerms);

void pack_terms(OperandSide side, int terms, const MatrixSource& matrix, std::int64_t across,
                std::int64_t depth, std::byte* panels) {
  HWY_DYNAMIC_DISPATCH(PackTerms)
  (side, terms, side == OperandSide::a ? matrix : matrix.transposed(), across, depth, panels);
}

}  // namespace weft::kernels
#endif  // HWY_ONCE

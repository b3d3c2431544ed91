// Emulates TDPBF16PS and VDPBF16PS with ordinary vectors. The arithmetic follows the description of
// these instructions in Intel's Software Developer's Manual, volume 2: fused multiply-adds in a
// fixed order, which round to nearest even and treat denormal inputs and results as zero. AMD's
// VDPBF16PS has the same semantics.
//
// The multiply-adds are fused if the SIMD target supports it (AVX2, AVX3). On other targets, the
// result is the same unless a product is less than 2^-126, because the product of two bfloat16
// numbers is exact in float.
#include <cstring>

#include "weft/ops/kernels/gemm/bf16_split/unit.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/gemm/bf16_split/emulated.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must be included before the headers below.
#include <hwy/highway.h>

#include "weft/ops/kernels/gemm/bf16_split/panel.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<float, 16>;
using DU = hn::RebindToUnsigned<DF>;
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));

// Replaces denormals by zeros with the same sign.
HWY_INLINE VF Flush(VF x) {
  const DF d;
  const DU du;
  const auto tiny = hn::Lt(hn::Abs(x), hn::Set(d, 0x1p-126f));
  const VF zero = hn::BitCast(d, hn::And(hn::BitCast(du, x), hn::Set(du, 0x80000000u)));
  return hn::IfThenElse(tiny, zero, x);
}

// Separates the entries of 16 pairs into entries with even k and entries with odd k.
HWY_INLINE void Widen(const uint32_t* pairs, float* even, float* odd) {
  const DF d;
  const DU du;
  for (int64_t i = 0; i < kTileSide; i += kLanes) {
    const auto v = hn::LoadU(du, pairs + i);
    hn::Store(Flush(hn::BitCast(d, hn::ShiftLeft<16>(v))), d, even + i);
    hn::Store(Flush(hn::BitCast(d, hn::And(v, hn::Set(du, 0xFFFF0000u)))), d, odd + i);
  }
}

// Emulates TDPBF16PS. For every element of C, the products with even k and the products with odd k
// are summed separately, starting with zero. The sum of both is added to C.
void MultiplyTiles(float* HWY_RESTRICT c, const uint32_t* HWY_RESTRICT a,
                   const uint32_t* HWY_RESTRICT b) {
  const DF d;
  HWY_ALIGN float b_even[kTileSide * kTileSide], b_odd[kTileSide * kTileSide];
  HWY_ALIGN float a_even[kTileSide], a_odd[kTileSide];
  for (int64_t q = 0; q < kTileSide; ++q) {
    Widen(b + q * kTileSide, b_even + q * kTileSide, b_odd + q * kTileSide);
  }
  for (int64_t i = 0; i < kTileSide; ++i) {
    Widen(a + i * kTileSide, a_even, a_odd);
    for (int64_t j = 0; j < kTileSide; j += kLanes) {
      VF even = hn::Zero(d), odd = hn::Zero(d);
      for (int64_t q = 0; q < kTileSide; ++q) {
        const int64_t at = q * kTileSide + j;
        even = Flush(hn::MulAdd(hn::Set(d, a_even[q]), hn::Load(d, b_even + at), even));
        odd = Flush(hn::MulAdd(hn::Set(d, a_odd[q]), hn::Load(d, b_odd + at), odd));
      }
      float* to = c + i * kTileSide + j;
      const VF sum = Flush(hn::Add(even, odd));
      hn::Store(Flush(hn::Add(Flush(hn::Load(d, to)), sum)), d, to);
    }
  }
}

// Emulates VDPBF16PS for 16 sums and 16 pairs of either operand. Adds the products with odd k and
// then the products with even k.
void AddDots(float* HWY_RESTRICT sums, const uint32_t* HWY_RESTRICT a,
             const uint32_t* HWY_RESTRICT b) {
  const DF d;
  HWY_ALIGN float a_even[kTileSide], a_odd[kTileSide], b_even[kTileSide], b_odd[kTileSide];
  Widen(a, a_even, a_odd);
  Widen(b, b_even, b_odd);
  for (int64_t j = 0; j < kTileSide; j += kLanes) {
    VF sum = Flush(hn::Load(d, sums + j));
    sum = Flush(hn::MulAdd(hn::Load(d, a_odd + j), hn::Load(d, b_odd + j), sum));
    sum = Flush(hn::MulAdd(hn::Load(d, a_even + j), hn::Load(d, b_even + j), sum));
    hn::Store(sum, d, sums + j);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "weft/ops/kernels/gemm/bf16_split/amx-inl.h"
#include "weft/ops/kernels/gemm/bf16_split/dot-inl.h"

namespace weft::kernels {

HWY_EXPORT(MultiplyTiles);
HWY_EXPORT(AddDots);

namespace {

constexpr std::int64_t kTileElements = kTileSide * kTileSide;

void store_tile(const float* tile, float* c, std::int64_t stride, bool add) {
  for (std::int64_t i = 0; i < kTileSide; ++i) {
    for (std::int64_t j = 0; j < kTileSide; ++j) {
      float& to = c[i * stride + j];
      to = add ? to + tile[i * kTileSide + j] : tile[i * kTileSide + j];
    }
  }
}

// Tiles in memory. Operands are not copied, because panels do not change while they are being
// multiplied.
struct EmulatedTiles {
  alignas(64) float sums[4][kTileElements];
  const std::uint32_t* operands[8] = {};

  template <int t>
  void zero() {
    std::memset(sums[t], 0, sizeof(sums[t]));
  }
  template <int t>
  void load(const void* tile) {
    operands[t] = static_cast<const std::uint32_t*>(tile);
  }
  template <int c, int a, int b>
  void multiply() {
    HWY_DYNAMIC_DISPATCH(MultiplyTiles)(sums[c], operands[a], operands[b]);
  }
  template <int t>
  void store(float* c, std::int64_t stride, bool add) {
    store_tile(sums[t], c, stride, add);
  }
};

// Vectors in memory.
struct EmulatedVectors {
  struct Sums {
    alignas(64) float sums[kTileSide];
  };
  struct Pairs {
    std::uint32_t pairs[kTileSide];
  };
  using Smallest = std::uint32_t;
  static Sums zero() { return {}; }
  static Pairs load(const void* pairs) { return load_part(pairs, kTileDepth); }
  static Pairs load_part(const void* pairs, std::int64_t entries) {
    Pairs result = {};
    std::memcpy(result.pairs, pairs, static_cast<std::size_t>(entries) * 2);
    return result;
  }
  static void dot(Sums& sums, const Pairs& a, const Pairs& b) {
    HWY_DYNAMIC_DISPATCH(AddDots)(sums.sums, a.pairs, b.pairs);
  }
  static void dot(Sums& sums, std::uint32_t pair, const Pairs& pairs) {
    Pairs same;
    for (std::uint32_t& to : same.pairs) to = pair;
    dot(sums, same, pairs);
  }
  static void totals(const Sums* sums, float* to) {
    for (int s = 0; s < 4; ++s) {
      Sums t = sums[s];
      for (std::int64_t width = kTileSide / 2; width > 0; width /= 2) {
        for (std::int64_t i = 0; i < width; ++i) t.sums[i] += t.sums[i + width];
      }
      to[s] = t.sums[0];
    }
  }
  static Smallest none() { return ~0u; }
  static void note(Smallest& smallest, const Pairs& pairs) {
    for (const std::uint32_t pair : pairs.pairs) {
      for (const std::uint32_t bits : {pair << 16 & 0x7FFF0000u, pair & 0x7FFF0000u}) {
        if (bits != 0 && bits < smallest) smallest = bits;
      }
    }
  }
  static std::uint32_t bits(const Smallest& smallest) { return smallest; }
  static void store(const Sums& sums, float* c, bool add) {
    for (std::int64_t j = 0; j < kTileSide; ++j) c[j] = add ? c[j] + sums.sums[j] : sums.sums[j];
  }
};

template <int kTerms, int kBTerms>
void emulated_amx_gemm(const std::byte* a, const std::byte* b, std::int64_t slices,
                       std::int64_t row_tiles, std::int64_t column_tiles, float* c,
                       std::int64_t c_stride, bool add, const std::byte* /*next*/) {
  EmulatedTiles tiles;
  tile_gemm<EmulatedTiles, kTerms, kBTerms>(tiles, a, b, slices, row_tiles, column_tiles, c,
                                            c_stride, add);
}

void emulated_dot_gemm(const std::byte* a, const std::byte* b, std::int64_t slices,
                       std::int64_t row_tiles, std::int64_t column_tiles, float* c,
                       std::int64_t c_stride, bool add, const std::byte* next) {
  dot_gemm<EmulatedVectors>(a, b, slices, row_tiles, column_tiles, c, c_stride, add, next);
}

std::uint32_t emulated_dot_columns(const std::byte* a, std::int64_t rows, const std::byte* b,
                                   std::int64_t b_stride, std::int64_t columns, std::int64_t depth,
                                   std::int64_t ahead, float* dots) {
  return dot_columns<EmulatedVectors>(a, rows, b, b_stride, columns, depth, ahead, dots);
}

void emulated_round_row(const float* row, std::int64_t depth, std::byte* to, std::int64_t stride,
                        std::uint32_t* largest, std::uint32_t* smallest) {
  round_row(row, depth, to, stride, largest, smallest);
}

}  // namespace

const Bf16UnitKernels& emulated_amx_kernels() {
  static constexpr Bf16UnitKernels kernels = {
      {emulated_amx_gemm<1, 1>, emulated_amx_gemm<2, 2>, emulated_amx_gemm<3, 3>},
      {emulated_amx_gemm<1, 1>, emulated_amx_gemm<2, 1>, emulated_amx_gemm<3, 1>},
      nullptr,
      nullptr};
  return kernels;
}

const Bf16UnitKernels& emulated_dot_kernels() {
  static constexpr Bf16UnitKernels kernels = {
      {emulated_dot_gemm},  {emulated_dot_gemm}, nullptr, nullptr,
      emulated_dot_columns, emulated_round_row};
  return kernels;
}

}  // namespace weft::kernels
#endif  // HWY_ONCE

#include "weft/ops/kernels/gemm/bf16_split/choose.h"

#include <algorithm>

#include "weft/ops/kernels/gemm/bf16_split/engine.h"

namespace weft::kernels {
namespace {

int products_of(Precision precision, bool bf16_b) {
  switch (precision) {
    case Precision::medium: return 1;
    case Precision::high: return bf16_b ? 2 : 3;
    case Precision::highest: break;
  }
  return bf16_b ? 3 : 6;
}

// Products for which m, n or k is smaller than this use the FMA engine.
//
// The table shows the time in nanoseconds per element of B for m rows. The core can execute 240
// GFLOP/s of FMA, of which a kernel reaches 200, and 3500 GFLOP/s of AMX, of which kernels with
// operands in L2 reach 2500, 1000 and 460 with one, three and six products. Packing an element
// takes about 0.1 ns for FMA and 0.12, 0.2 and 0.3 ns for one, two and three terms:
//
//            m = 16   32     64     128
//   FMA      0.26     0.42   0.74   1.38
//   1        0.13     0.15   0.17   0.22
//   3        0.23     0.26   0.33   0.46
//   6        0.37     0.44   0.58   0.86
//
// The same applies to columns of C and the packing of A. If B is bfloat16, three products take
// about as long as three in the table. If K is less than a few tiles, the gain does not outweigh
// the cost of reading and writing C in tiles. VDPBF16PS, which has twice the throughput of FMA, is
// faster with one product if m is at least 16. With three products, it would be slower.
constexpr std::int64_t smallest_side(int products) { return products == 6 ? 64 : 32; }

// Set by tests only.
bool g_forced = false;
std::optional<Bf16Unit> g_forced_unit;

}  // namespace

std::optional<Bf16SplitChoice> choose_bf16_split(const Bf16Cpu& cpu, Precision precision,
                                                 std::int64_t m, std::int64_t n, std::int64_t k,
                                                 bool bf16_b) {
  const int products = products_of(precision, bf16_b);
  if (std::min({m, n, k}) < smallest_side(products)) return std::nullopt;
  if (cpu.amx) return Bf16SplitChoice{Bf16Unit::amx, products, bf16_b && products > 1};
  if (cpu.fast_dot && products == 1) return Bf16SplitChoice{Bf16Unit::dot, products};
  return std::nullopt;
}

const GemmEngine* choose_bf16_split_engine(Precision precision, std::int64_t m, std::int64_t n,
                                           std::int64_t k, bool bf16_b) {
  if (g_forced) {
    const int products = products_of(precision, bf16_b);
    if (!g_forced_unit) return nullptr;
    if (products > 1 && bf16_unit_kernels(*g_forced_unit).panel_gemm[1] == nullptr) return nullptr;
    return &bf16_split_engine(*g_forced_unit, products, bf16_b && products > 1);
  }
  const std::optional<Bf16SplitChoice> choice =
      choose_bf16_split(bf16_cpu(), precision, m, n, k, bf16_b);
  return choice ? &bf16_split_engine(choice->unit, choice->products, choice->single_term_b)
                : nullptr;
}

// Reading the weights takes longer than the products of up to 8 rows with VDPBF16PS, but not with
// fused multiply-adds: 8 rows take 2 times as long as one.
std::optional<Bf16Unit> choose_few_rows_unit(Precision precision, std::int64_t n, std::int64_t k) {
  if (precision != Precision::medium) return std::nullopt;
  if (g_forced) {
    const bool fits = g_forced_unit && bf16_unit_kernels(*g_forced_unit).dot_columns != nullptr;
    return fits ? g_forced_unit : std::nullopt;
  }
  if (!bf16_cpu().fast_dot || std::min(n, k) < smallest_side(1)) return std::nullopt;
  return Bf16Unit::dot;
}

// A 64 x 128 tile with K = 64 takes about 6.7 us with fused multiply-adds, of which packing takes
// 1.5 us. With one, three and six products on AMX, it takes 2.1, 4.1 and 6.4 us. VDPBF16PS makes
// tiles 1.5 times as fast. However, attention as a whole, including its exponentials, becomes only
// 1.03 times as fast (measured), which is not worth the loss of accuracy.
const GemmEngine* choose_tile_engine(Precision precision, std::int64_t m, std::int64_t n,
                                     std::int64_t k) {
  if (!g_forced && (precision == Precision::highest || !bf16_cpu().amx)) return nullptr;
  return choose_bf16_split_engine(precision, m, n, k);
}

ForcedBf16Unit::ForcedBf16Unit(std::optional<Bf16Unit> unit) {
  g_forced = true;
  g_forced_unit = unit;
}

ForcedBf16Unit::~ForcedBf16Unit() { g_forced = false; }

}  // namespace weft::kernels

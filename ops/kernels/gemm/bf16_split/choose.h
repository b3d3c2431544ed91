// Which products of float matrices run on matrix units: the static table.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/core/export.h"
#include "weft/ops/kernels/gemm/bf16_split/unit.h"
#include "weft/ops/kernels/gemm/engine.h"

namespace weft::kernels {

/// One entry of the table: so many products of bfloat16 terms on this unit.
struct Bf16SplitChoice {
  Bf16Unit unit;
  int products;
  friend bool operator==(const Bf16SplitChoice&, const Bf16SplitChoice&) = default;
};

/// What a product of float matrices (m x k by k x n) at this precision runs on, on such a CPU;
/// nothing where fused multiply-adds are the better choice. By shape and CPU features only.
std::optional<Bf16SplitChoice> choose_bf16_split(const Bf16Cpu& cpu, Precision precision,
                                                 std::int64_t m, std::int64_t n, std::int64_t k);

/// The engine that choose_bf16_split() names for this CPU, or null for fused multiply-adds.
const GemmEngine* choose_bf16_split_engine(Precision precision, std::int64_t m, std::int64_t n,
                                           std::int64_t k);

/// The engine for a product whose caller packs both operands anew for it (a tile of attention, of a
/// convolution), or null: only one and three products on AMX pay then.
const GemmEngine* choose_tile_engine(Precision precision, std::int64_t m, std::int64_t n,
                                     std::int64_t k);

/// For tests: while it lives, products of every shape run on this unit (6, 3 or 1 products for
/// highest, high and medium) where it has so many, else on fused multiply-adds; without a unit,
/// everything runs on fused multiply-adds. Kernels keep the engine they were made with. Not to be
/// nested, nor used while other threads make kernels.
class WEFT_API ForcedBf16Unit {
 public:
  explicit ForcedBf16Unit(std::optional<Bf16Unit> unit);
  ~ForcedBf16Unit();
  ForcedBf16Unit(const ForcedBf16Unit&) = delete;
  ForcedBf16Unit& operator=(const ForcedBf16Unit&) = delete;
};

}  // namespace weft::kernels

// Selects the products of float matrices that run on matrix units, based on a static table.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/core/export.h"
#include "weft/ops/kernels/gemm/bf16_split/unit.h"
#include "weft/ops/kernels/gemm_engine.h"

namespace weft::kernels {

/// An entry of the table: the unit, the number of products of bfloat16 terms, and whether B has
/// only one term.
struct Bf16SplitChoice {
  Bf16Unit unit;
  int products;
  bool single_term_b = false;
  friend bool operator==(const Bf16SplitChoice&, const Bf16SplitChoice&) = default;
};

/// Returns the unit and the number of products for float matrices (m x k by k x n) at this
/// precision on `cpu`, or nullopt if fused multiply-adds are the better choice. `bf16_b` is true if
/// B is stored as bfloat16. The result depends only on the arguments.
std::optional<Bf16SplitChoice> choose_bf16_split(const Bf16Cpu& cpu, Precision precision,
                                                 std::int64_t m, std::int64_t n, std::int64_t k,
                                                 bool bf16_b = false);

/// Returns the engine that choose_bf16_split() selects for this CPU, or null for fused
/// multiply-adds.
const GemmEngine* choose_bf16_split_engine(Precision precision, std::int64_t m, std::int64_t n,
                                           std::int64_t k, bool bf16_b = false);

/// Returns the engine for a product if its operands are packed only for this product (a tile of
/// attention or of a convolution), or null for fused multiply-adds. For such operands, only one and
/// three products on AMX are faster than fused multiply-adds.
const GemmEngine* choose_tile_engine(Precision precision, std::int64_t m, std::int64_t n,
                                     std::int64_t k);

/// Returns the unit for products of few rows (../few_rows.h) with a matrix that is stored as
/// bfloat16 with contiguous columns, or nullopt for fused multiply-adds. The result does not depend
/// on the number of rows.
std::optional<Bf16Unit> choose_few_rows_unit(Precision precision, std::int64_t n, std::int64_t k);

/// Scope guard for tests. During its lifetime, products of every shape run on this unit (6, 3 or 1
/// products for highest, high and medium, or 3, 2 or 1 if B is bfloat16) if it supports this number
/// of products, and otherwise use fused multiply-adds. Without a unit, all products use fused
/// multiply-adds. Kernels keep the engine with which they were created. Guards must not be nested
/// or used while other threads create kernels.
class WEFT_API ForcedBf16Unit {
 public:
  explicit ForcedBf16Unit(std::optional<Bf16Unit> unit);
  ~ForcedBf16Unit();
  ForcedBf16Unit(const ForcedBf16Unit&) = delete;
  ForcedBf16Unit& operator=(const ForcedBf16Unit&) = delete;
};

}  // namespace weft::kernels

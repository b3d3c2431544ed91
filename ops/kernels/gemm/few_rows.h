// Products of a few rows of A, rounded to bfloat16, with a matrix B that is stored as bfloat16 with
// contiguous columns. B is read once and is not packed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/gemm/bf16_split/unit.h"
#include "weft/ops/kernels/gemm/skinny.h"

namespace weft::kernels {

/// The number of rows that are computed if there are m rows: 1, 2, 4, 8 or 16.
constexpr std::int64_t dot_rows(std::int64_t m) {
  std::int64_t rows = 1;
  while (rows < m) rows *= 2;
  return rows;
}

/// Returns true if few_rows_gemm() can compute products with these operands: A is f32 with
/// contiguous rows, and B is bf16 with contiguous columns.
bool few_rows_fit(const MatrixSource& a, const MatrixSource& b);

/// Returns the number of bytes of the rounded rows of A.
std::size_t few_rows_bytes(std::int64_t m, std::int64_t k);

/// Rounds row `row` < dot_rows(m) of A. Rows after the last one repeat it. All rows must be rounded
/// before few_rows_gemm(). `rounded` has few_rows_bytes() bytes and is 64-byte aligned.
void round_few_rows(Bf16Unit unit, const MatrixSource& a, std::int64_t m, std::int64_t k,
                    std::int64_t row, std::byte* rounded);

/// The number of bytes of scratch that few_rows_gemm() needs.
std::size_t few_rows_scratch_bytes();

/// Computes the product on the calling thread. The unit must have DotColumns, and the result is
/// f32. `scratch` is 64-byte aligned. The bits of an element depend only on its row of A, its
/// column of B and k. A sum over 1024 entries along K is computed with fused multiply-adds
/// (fma_block) if a product of entries might be denormal (representable_by_terms()), if an entry of
/// the row rounds to infinity, or if the unit's result is infinite or NaN.
void few_rows_gemm(Bf16Unit unit, const SkinnyGemm& problem, const std::byte* rounded,
                   std::byte* scratch);

}  // namespace weft::kernels

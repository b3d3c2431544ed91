#include "weft/ops/kernels/gemm/few_rows.h"

#include <algorithm>
#include <cmath>

#include "weft/ops/kernels/gemm/bf16_split/fallback.h"
#include "weft/ops/kernels/gemm/bf16_split/panel.h"

namespace weft::kernels {
namespace {

constexpr std::int64_t kBlock = kBf16Panel * kBf16Panel;
// The products of blocks of K are added in order. Eight rows of a block of A stay in the L1 cache
// while they are multiplied by kDotColumns columns.
constexpr std::int64_t kDepth = 1024;

// Returns true if no product of the entries might be denormal. The largest entries of B do not
// matter, because they are bfloat16 numbers.
bool is_representable(const PanelRange& a, std::int64_t row, std::uint32_t smallest_b) {
  return representable_by_terms(a.largest[row], a.smallest[row], 0, smallest_b, 1);
}

std::uint32_t smallest_of(const std::uint16_t* column, std::int64_t k) {
  std::uint32_t smallest = ~0u;
  for (std::int64_t p = 0; p < k; ++p) {
    const std::uint32_t bits = (column[p] & 0x7FFFu) << 16;
    if (bits != 0) smallest = std::min(smallest, bits);
  }
  return smallest;
}

// Replaces the dots of a block of K and `columns` columns of B that the unit cannot compute.
void replace_dots(const SkinnyGemm& g, const PanelRange& range, const MatrixSource& a,
                  const MatrixSource& b, std::int64_t columns, std::int64_t depth, float* dots,
                  std::byte* scratch) {
  float* const replacement = reinterpret_cast<float*>(scratch);
  fma_block(a, b, g.m, columns, depth, replacement,
            reinterpret_cast<std::byte*>(replacement + kBlock));
  for (std::int64_t j = 0; j < columns; ++j) {
    const std::uint32_t smallest =
        smallest_of(static_cast<const std::uint16_t*>(b.data) + j * b.column_stride, depth);
    for (std::int64_t i = 0; i < g.m; ++i) {
      float& dot = dots[i * kDotColumns + j];
      if (!is_representable(range, i, smallest) || !std::isfinite(dot))
        dot = replacement[i * kBf16Panel + j];
    }
  }
}

// Computes the sums of kDotColumns or fewer columns of the product from `first`.
void add_columns(DotColumns dot_columns, const SkinnyGemm& g, const std::byte* rounded,
                 std::int64_t first, std::int64_t columns, std::byte* scratch) {
  const PanelRange& range = panel_range(rounded);
  const std::int64_t rows = dot_rows(g.m), stride = g.b.column_stride;
  float dots[kMostSkinnyRows * kDotColumns];
  for (std::int64_t p = 0; p < g.k; p += kDepth) {
    const std::int64_t depth = std::min(kDepth, g.k - p);
    const MatrixSource b = g.b.from(p, first);
    // Prefetches the next block of the columns, and finally the first block of the next columns.
    const std::int64_t ahead = p + depth < g.k ? depth : kDotColumns * stride - p;
    const std::uint32_t smallest =
        dot_columns(panel_tiles(rounded) + rows * p * 2, rows,
                    static_cast<const std::byte*>(b.data), stride, columns, depth, ahead, dots);
    bool valid = true;
    for (std::int64_t i = 0; i < g.m; ++i) {
      valid &= is_representable(range, i, smallest);
      for (std::int64_t q = 0; q < columns; ++q) valid &= std::isfinite(dots[i * kDotColumns + q]);
    }
    if (!valid) replace_dots(g, range, g.a.from(0, p), b, columns, depth, dots, scratch);
    float* const c = static_cast<float*>(g.c) + first * g.c_column_stride;
    for (std::int64_t i = 0; i < g.m; ++i) {
      for (std::int64_t q = 0; q < columns; ++q) {
        float& to = c[i * g.c_row_stride + q * g.c_column_stride];
        const float dot = dots[i * kDotColumns + q];
        to = g.accumulate || p > 0 ? to + dot : dot;
      }
    }
  }
}

}  // namespace

bool few_rows_fit(const MatrixSource& a, const MatrixSource& b) {
  return a.dtype == DType::f32 && a.column_stride == 1 && b.dtype == DType::bf16 &&
         b.row_stride == 1 && b.column_stride != 1;
}

std::size_t few_rows_bytes(std::int64_t m, std::int64_t k) {
  return sizeof(PanelRange) +
         static_cast<std::size_t>(dot_rows(m) * bf16_slices(k) * kTileDepth * 2);
}

void round_few_rows(Bf16Unit unit, const MatrixSource& a, std::int64_t m, std::int64_t k,
                    std::int64_t row, std::byte* rounded) {
  PanelRange& range = *reinterpret_cast<PanelRange*>(rounded);
  const float* from = static_cast<const float*>(a.data) + std::min(row, m - 1) * a.row_stride;
  std::byte* const to = rounded + sizeof(PanelRange) + row * kTileDepth * 2;
  bf16_unit_kernels(unit).round_row(from, k, to, dot_rows(m) * kTileDepth * 2, &range.largest[row],
                                    &range.smallest[row]);
}

std::size_t few_rows_scratch_bytes() { return kBlock * sizeof(float) + fma_block_scratch(); }

void few_rows_gemm(Bf16Unit unit, const SkinnyGemm& g, const std::byte* rounded,
                   std::byte* scratch) {
  const DotColumns dot_columns = bf16_unit_kernels(unit).dot_columns;
  for (std::int64_t j = 0; j < g.n; j += kDotColumns)
    add_columns(dot_columns, g, rounded, j, std::min(kDotColumns, g.n - j), scratch);
}

}  // namespace weft::kernels

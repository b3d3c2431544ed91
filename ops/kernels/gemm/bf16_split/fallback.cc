#include "weft/ops/kernels/gemm/bf16_split/fallback.h"

#include <algorithm>

#include "weft/ops/kernels/gemm/bf16_split/panel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/gemm/bf16_split/fallback.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must be included before the headers below.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Computes c += A B for 32 x 32 elements, with the operands a[p * 32 + i] and b[p * 32 + j].
void FmaBlock(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, int64_t depth,
              float* HWY_RESTRICT c) {
  using D = hn::CappedTag<float, 16>;
  const D d;
  using V = hn::Vec<D>;
  constexpr int64_t lanes = static_cast<int64_t>(hn::MaxLanes(D()));
  // Four rows with one or two vectors hide most of the latency and fit into 16 registers.
  constexpr int kRows = 4, kVectors = lanes >= 16 ? 2 : 1;
  for (int64_t i = 0; i < kBf16Panel; i += kRows) {
    for (int64_t j = 0; j < kBf16Panel; j += kVectors * lanes) {
      V sums[kRows * kVectors];
#pragma GCC unroll 8
      for (int s = 0; s < kRows * kVectors; ++s) {
        sums[s] = hn::Load(d, c + (i + s / kVectors) * kBf16Panel + j + s % kVectors * lanes);
      }
      for (int64_t p = 0; p < depth; ++p) {
#pragma GCC unroll 8
        for (int s = 0; s < kRows * kVectors; ++s) {
          const V bv = hn::Load(d, b + p * kBf16Panel + j + s % kVectors * lanes);
          sums[s] = hn::MulAdd(hn::Set(d, a[p * kBf16Panel + i + s / kVectors]), bv, sums[s]);
        }
      }
#pragma GCC unroll 8
      for (int s = 0; s < kRows * kVectors; ++s) {
        hn::Store(sums[s], d, c + (i + s / kVectors) * kBf16Panel + j + s % kVectors * lanes);
      }
    }
  }
}

void StoreBlock(const float* HWY_RESTRICT block, int64_t rows, int64_t columns,
                float* HWY_RESTRICT c, int64_t c_stride, bool accumulate) {
  using D = hn::CappedTag<float, 16>;
  const D d;
  constexpr int64_t lanes = static_cast<int64_t>(hn::MaxLanes(D()));
  for (int64_t i = 0; i < rows; ++i) {
    const float* from = block + i * kBf16Panel;
    float* to = c + i * c_stride;
    int64_t j = 0;
    for (; j + lanes <= columns; j += lanes) {
      auto v = hn::Load(d, from + j);
      if (accumulate) v = hn::Add(hn::LoadU(d, to + j), v);
      hn::StoreU(v, d, to + j);
    }
    for (; j < columns; ++j) to[j] = accumulate ? to[j] + from[j] : from[j];
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(FmaBlock);
HWY_EXPORT(StoreBlock);

namespace {

// The depth that is copied to scratch in each step. The chains of multiply-adds continue across
// steps.
constexpr std::int64_t kStep = 64;

float float_at(const MatrixSource& m, std::int64_t index) {
  switch (m.dtype) {
    case DType::bf16: return to_float(static_cast<const BFloat16*>(m.data)[index]);
    case DType::f16: return to_float(static_cast<const Float16*>(m.data)[index]);
    default: return static_cast<const float*>(m.data)[index];
  }
}

// Copies m(i, p) to out[p * 32 + i], with zeros for i >= across.
void copy_panel(const MatrixSource& m, std::int64_t across, std::int64_t depth, float* out) {
  if (across < kBf16Panel) std::fill_n(out, kBf16Panel * depth, 0.0f);
  for (std::int64_t i = 0; i < across; ++i) {
    for (std::int64_t p = 0; p < depth; ++p) {
      out[p * kBf16Panel + i] = float_at(m, i * m.row_stride + p * m.column_stride);
    }
  }
}

}  // namespace

std::size_t fma_block_scratch() { return 2 * kBf16Panel * kStep * sizeof(float); }

void fma_block(const MatrixSource& a, const MatrixSource& b, std::int64_t rows,
               std::int64_t columns, std::int64_t depth, float* c, std::byte* scratch) {
  float* const a_copy = reinterpret_cast<float*>(scratch);
  float* const b_copy = a_copy + kBf16Panel * kStep;
  std::fill_n(c, kBf16Panel * kBf16Panel, 0.0f);
  for (std::int64_t p = 0; p < depth; p += kStep) {
    const std::int64_t step = std::min(kStep, depth - p);
    copy_panel(a.from(0, p), rows, step, a_copy);
    copy_panel(b.from(p, 0).transposed(), columns, step, b_copy);
    HWY_DYNAMIC_DISPATCH(FmaBlock)(a_copy, b_copy, step, c);
  }
}

void store_block(const float* block, std::int64_t rows, std::int64_t columns, float* c,
                 std::int64_t c_stride, bool accumulate) {
  HWY_DYNAMIC_DISPATCH(StoreBlock)(block, rows, columns, c, c_stride, accumulate);
}

}  // namespace weft::kernels
#endif  // HWY_ONCE

// Computes one matrix product with a GEMM engine, without the driver.
#pragma once

#include <algorithm>

#include "weft/core/tensor.h"
#include "weft/ops/kernels/gemm_engine.h"

namespace weft::testing {

/// Returns C = A B, or C += A B if `add_to` is given. Both matrices are packed completely and
/// multiplied one block of K at a time.
inline Tensor engine_gemm(const kernels::GemmEngine& engine, const kernels::MatrixSource& a,
                          const kernels::MatrixSource& b, std::int64_t m, std::int64_t n,
                          std::int64_t k, const Tensor* add_to = nullptr) {
  const auto panels = [](std::int64_t across, std::int64_t panel) {
    return static_cast<std::size_t>((across + panel - 1) / panel);
  };
  const std::int64_t depth = std::min(k, engine.depth_block);
  const auto pa = Buffer::allocate(panels(m, engine.row_panel) * engine.a_panel_bytes(depth));
  const auto pb = Buffer::allocate(panels(n, engine.column_panel) * engine.b_panel_bytes(depth));
  const auto scratch = Buffer::allocate(engine.multiply_scratch);
  // Buffers are filled with a pattern because packing and multiplication must not rely on zeros.
  for (const auto& buffer : {pa, pb, scratch}) {
    std::fill_n(buffer->data(), buffer->bytes(), std::byte{0xA5});
  }
  Tensor c = add_to != nullptr ? add_to->clone() : Tensor::full(engine.result, {m, n}, 99);
  for (std::int64_t p = 0; p < k; p += engine.depth_block) {
    const std::int64_t step = std::min(engine.depth_block, k - p);
    engine.pack_a(a.from(0, p), m, step, pa->data());
    engine.pack_b(b.from(p, 0), step, n, pb->data());
    engine.multiply({pa->data(), a.from(0, p)}, {pb->data(), b.from(p, 0)}, m, n, step,
                    c.mutable_raw(), n, add_to != nullptr || p > 0, scratch->data());
  }
  return c;
}

/// As above, for row-major f32 tensors.
inline Tensor engine_gemm(const kernels::GemmEngine& engine, const Tensor& a, const Tensor& b) {
  return engine_gemm(engine, {a.raw(), a.dtype(), a.size(1), 1}, {b.raw(), b.dtype(), b.size(1), 1},
                     a.size(0), b.size(1), a.size(1));
}

}  // namespace weft::testing

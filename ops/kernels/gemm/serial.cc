#include "weft/ops/kernels/gemm/serial.h"

#include <algorithm>

#include "weft/ops/kernels/gemm/blocks.h"
#include "weft/ops/kernels/gemm/skinny.h"
#include "weft/ops/kernels/gemm_engine.h"

namespace weft::kernels {
namespace {

std::int64_t panels(std::int64_t extent, std::int64_t panel) {
  return (extent + panel - 1) / panel;
}

struct Scratch {
  std::size_t a, b;  // sizes of the packed blocks in bytes
};
Scratch packed_bytes(const GemmEngine& engine, std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::int64_t depth = std::min(k, engine.depth_block);
  const auto bytes = [](std::int64_t count, std::size_t each) {
    return static_cast<std::size_t>(count) * each;
  };
  return {
      bytes(panels(std::min(m, kBlockRows), engine.row_panel), engine.a_panel_bytes(depth)),
      bytes(panels(std::min(n, kBlockColumns), engine.column_panel), engine.b_panel_bytes(depth))};
}

template <class T>
MatrixSource source(const MatrixView<T>& v) {
  return {v.data, dtype_of<T>, v.row_stride, v.column_stride};
}

/// Returns the number of the first rows of A that the engine multiplies without packing. Rows at a
/// distance of a multiple of 4 KiB would share one set of the L1 cache.
template <class T>
std::int64_t unpacked_rows(const GemmEngine& engine, const MatrixSource& a, std::int64_t rows) {
  constexpr auto kPage = static_cast<std::int64_t>(4096 / sizeof(T));
  if (engine.row_unit == 0 || a.column_stride != 1 || a.row_stride % kPage == 0) return 0;
  return rows / engine.row_unit * engine.row_unit;
}

template <class T>
void packed_gemm(const GemmProblem<T>& g, std::byte* scratch) {
  const GemmEngine& engine = g.engine != nullptr ? *g.engine : fma_engine(dtype_of<T>);
  const Scratch bytes = packed_bytes(engine, g.m, g.n, g.k);
  std::byte *const packed_a = scratch, *const packed_b = scratch + bytes.a,
                   *const rest = packed_b + bytes.b;
  for (std::int64_t j = 0; j < g.n; j += kBlockColumns) {
    const std::int64_t columns = std::min(kBlockColumns, g.n - j);
    for (std::int64_t p = 0; p < g.k; p += engine.depth_block) {
      const std::int64_t depth = std::min(engine.depth_block, g.k - p);
      const MatrixSource b = source(g.b.from(p, j));
      engine.pack_b(b, depth, columns, packed_b);
      for (std::int64_t i = 0; i < g.m; i += kBlockRows) {
        const std::int64_t rows = std::min(kBlockRows, g.m - i);
        const MatrixSource a = source(g.a.from(i, p));
        T* const c = g.c + i * g.c_stride + j;
        const std::int64_t read = unpacked_rows<T>(engine, a, rows);
        if (read > 0)
          engine.multiply({nullptr, a}, {packed_b, b}, read, columns, depth, c, g.c_stride,
                          g.accumulate || p > 0, rest);
        if (read == rows) continue;
        const MatrixSource last = a.from(read, 0);
        engine.pack_a(last, rows - read, depth, packed_a);
        engine.multiply({packed_a, last}, {packed_b, b}, rows - read, columns, depth,
                        c + read * g.c_stride, g.c_stride, g.accumulate || p > 0, rest);
      }
    }
  }
}

template <class T>
void run(const GemmProblem<T>& g, std::byte* scratch) {
  if (g.m == 0 || g.n == 0) return;
  // Products with contiguous rows of B have the bits of the engine, unless there are few columns.
  const bool chain = g.b.column_stride == 1 && g.n > kSkinnyRows;
  if (g.k == 0) {
    if (g.accumulate) return;
    for (std::int64_t i = 0; i < g.m; ++i) std::fill_n(g.c + i * g.c_stride, g.n, T{0});
  } else if (g.engine != nullptr) {
    packed_gemm(g, scratch);
  } else if (g.m <= kSkinnyRows && skinny_gemm_fits(source(g.b)) && (!g.batch_invariant || chain)) {
    skinny_gemm(
        {g.m, g.n, g.k, source(g.a), source(g.b), dtype_of<T>, g.c, g.c_stride, 1, g.accumulate},
        scratch);
  } else if (g.n <= kSkinnyRows && skinny_gemm_fits(source(g.a).transposed())) {
    skinny_gemm({g.n, g.m, g.k, source(g.b).transposed(), source(g.a).transposed(), dtype_of<T>,
                 g.c, 1, g.c_stride, g.accumulate},
                scratch);
  } else {
    packed_gemm(g, scratch);
  }
}

}  // namespace

std::size_t gemm_scratch_bytes(std::size_t element_size, std::int64_t m, std::int64_t n,
                               std::int64_t k, const GemmEngine* engine) {
  if (m == 0 || n == 0 || k == 0) return 0;
  const DType dtype = element_size == sizeof(double) ? DType::f64 : DType::f32;
  const GemmEngine& used = engine != nullptr ? *engine : fma_engine(dtype);
  const Scratch bytes = packed_bytes(used, m, n, k);
  const std::size_t packed = bytes.a + bytes.b + used.multiply_scratch;
  // m, n and k are maximum sizes, and smaller products may be skinny.
  const std::size_t few = engine != nullptr ? 0 : skinny_gemm_scratch_bytes(dtype, kSkinnyRows, k);
  return (std::max(packed, few) + 63) / 64 * 64;
}

void gemm(const GemmProblem<float>& problem, std::byte* scratch) { run(problem, scratch); }
void gemm(const GemmProblem<double>& problem, std::byte* scratch) { run(problem, scratch); }

}  // namespace weft::kernels

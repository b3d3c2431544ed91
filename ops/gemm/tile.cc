// Tiles of matrix products, and operands that are packed before all runs.
#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/ops/gemm/detail.h"
#include "weft/ops/kernels/gemm/blocks.h"

namespace weft::gemm_detail {

void check_dtypes(const GemmBatch& g) {
  const DType result = g.c.dtype;
  const auto fits = [&](DType t) { return t == result || t == DType::bf16 || t == DType::f16; };
  if ((result != DType::f32 && result != DType::f64) || !fits(g.a.dtype) || !fits(g.b.dtype)) {
    throw DTypeError(
        fmt::format("a product of {} and {} cannot be {}: the result must be f32 or f64, and "
                    "each operand must have the dtype of the result, bf16 or f16",
                    dtype_name(g.a.dtype), dtype_name(g.b.dtype), dtype_name(result)));
  }
}

void multiply_tile(const GemmJob& job, const KernelRun& run, const Tile& tile,
                   const GemmPointers& at, const PackedRange& a, const PackedRange& b,
                   const TileSums& sums, std::byte* own) {
  const GemmEngine& e = *job.engine;
  const MatrixSource source_a = job.source(job.batch.a, at.a, tile.item);
  const MatrixSource source_b = job.source(job.batch.b, at.b, tile.item);
  const std::int64_t row_bytes =
      sums.stride * static_cast<std::int64_t>(dtype_size(job.batch.c.dtype));
  for (std::int64_t begin = tile.depth.begin; begin < tile.depth.end; begin += e.depth_block) {
    const Range depth{begin, std::min(begin + e.depth_block, tile.depth.end)};
    const bool accumulate = sums.accumulate || begin > tile.depth.begin;
    kernels::PackedBlock packed_b{own + job.slot_b, source_b.from(begin, tile.columns.begin)};
    if (b.data != nullptr) {
      packed_b.panels = b.data + job.b_panel(job.column_panels(b.extent.size()),
                                             (begin - b.depth_begin) / e.depth_block,
                                             (tile.columns.begin - b.extent.begin) / e.column_panel,
                                             depth.size());
    } else {
      if (job.batch.convert_b != nullptr) {
        packed_b.source = {own + job.slot_converted, job.batch.b.dtype, job.tiling.tile_columns, 1};
        job.batch.convert_b(run, {begin, tile.columns.begin, depth.size(), tile.columns.size()},
                            own + job.slot_converted, job.tiling.tile_columns);
      }
      e.pack_b(packed_b.source, depth.size(), tile.columns.size(), own + job.slot_b);
    }
    for (std::int64_t row = tile.rows.begin; row < tile.rows.end; row += kernels::kBlockRows) {
      const std::int64_t height = std::min(kernels::kBlockRows, tile.rows.end - row);
      kernels::PackedBlock packed_a{own + job.slot_a, source_a.from(row, begin)};
      if (a.data != nullptr) {
        packed_a.panels = a.data + job.a_panel(job.row_panels(a.extent.size()),
                                               (begin - a.depth_begin) / e.depth_block,
                                               (row - a.extent.begin) / e.row_panel, depth.size());
      } else {
        e.pack_a(packed_a.source, height, depth.size(), own + job.slot_a);
      }
      e.multiply(packed_a, packed_b, height, tile.columns.size(), depth.size(),
                 sums.data + (row - tile.rows.begin) * row_bytes, sums.stride, accumulate, own);
    }
  }
}

std::size_t packed_b_bytes(const GemmJob& job) {
  const std::int64_t block = job.engine->depth_block, k = job.batch.k;
  const std::int64_t panels = job.column_panels(job.batch.n);
  return job.b_panel(panels, (k - 1) / block, panels, (k - 1) % block + 1);
}

PackedInput prepack_b(const JobRef& job, std::size_t input) {
  const GemmEngine& e = *job->engine;
  const GemmBatch& g = job->batch;
  const std::int64_t panels = job->column_panels(g.n);
  PackedInput packed;
  packed.input = input;
  // The dtype and the panel width are part of the layout, because engines with the same name exist
  // for f32 and f64, and the panel width depends on the vector size.
  packed.layout =
      fmt::format("B of {} {} {}x{} [{}, {}] {} {}", e.name, dtype_name(e.result), e.depth_block,
                  e.column_panel, g.k, g.n, g.b.row_stride, g.b.column_stride);
  if (g.count > 1) packed.layout += fmt::format(", {} matrices", g.count);
  packed.bytes = times(g.count, packed_b_bytes(*job));
  packed.chunks =
      std::min(chunk_count(g.count * g.n * g.k, kCopiedElementsPerChunk), g.count * panels);
  packed.pack = [job, &e, panels, chunks = packed.chunks](const void* from, std::byte* to,
                                                          std::int64_t chunk) {
    const GemmBatch& g = job->batch;
    auto [next, end] = chunk_range(g.count * panels, chunks, chunk);
    while (next < end) {
      const std::int64_t item = next / panels, first = next % panels;
      const std::int64_t last = std::min(panels, first + end - next);
      const Range columns{first * e.column_panel, std::min(last * e.column_panel, g.n)};
      std::byte* const matrix = to + times(item, packed_b_bytes(*job));
      for (std::int64_t block = 0; block * e.depth_block < g.k; ++block) {
        const Range depth = piece({0, g.k}, e.depth_block, block);
        e.pack_b(job->source(g.b, from, item).from(depth.begin, columns.begin), depth.size(),
                 columns.size(), matrix + job->b_panel(panels, block, first, depth.size()));
      }
      next += last - first;
    }
  };
  return packed;
}

}  // namespace weft::gemm_detail

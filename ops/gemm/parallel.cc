#include "weft/ops/gemm/parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "weft/core/error.h"
#include "weft/ops/gemm/detail.h"
#include "weft/ops/gemm/tiling.h"
#include "weft/ops/kernels/gemm/blocks.h"
#include "weft/ops/kernels/gemm_engine.h"
#include "weft/ops/kernels/stream_copy.h"

namespace weft {
namespace gemm_detail {
namespace {

// Approximate speed of one core, used for Phase::cost_ns.
constexpr double kMultiplyAddsPerNs = 40;
// The minimum amount of work in a chunk of tiles, which is about 10 us.
constexpr double kMultiplyAddsPerChunk = 5e5;
// The minimum amount of work in a chunk that packs shared operands, which is about 3 us.
constexpr std::int64_t kPackedElementsPerChunk = 1 << 14;
// A single product with at least this many multiply-adds keeps all workers busy.
constexpr double kLargeGemm = 1.3e8;
// The maximum number of stages, because phases are stored in a list. A job with more stages
// (operands of more than about 100 GiB) consists of a single phase, in which tiles pack their own
// operands.
constexpr double kMaxStages = 1 << 13;

double multiply_adds(const Range& rows, const Range& columns, const Range& depth) {
  return static_cast<double>(rows.size()) * static_cast<double>(columns.size()) *
         static_cast<double>(depth.size());
}

// The ranges that are processed by a packing phase and the tiles after it.
struct Stage {
  Range rows, columns, depth;
};

// -- Shared packing ------------------------------------------------------------------------------

void add_packing(Kernel& kernel, const JobRef& job, const Stage& stage, std::int64_t item,
                 bool pack_a, bool pack_b) {
  const GemmEngine& e = *job->engine;
  // Each chunk packs a few neighbouring panels over the whole depth of the range.
  const auto chunks_of = [&](bool packed, std::int64_t extent) {
    return packed ? chunk_count(extent * stage.depth.size(), kPackedElementsPerChunk) : 0;
  };
  const std::int64_t a_chunks =
      std::min(chunks_of(pack_a, stage.rows.size()), job->row_panels(stage.rows.size()));
  const std::int64_t b_chunks =
      std::min(chunks_of(pack_b, stage.columns.size()), job->column_panels(stage.columns.size()));
  Phase phase;
  phase.chunks = a_chunks + b_chunks;
  phase.cost_ns =
      static_cast<double>((pack_a ? stage.rows.size() : 0) + (pack_b ? stage.columns.size() : 0)) *
      static_cast<double>(stage.depth.size()) / kCopiedElementsPerNs;
  phase.body = [job, &e, stage, item, a_chunks, b_chunks](const KernelRun& run,
                                                          std::int64_t chunk) {
    const GemmPointers at = job->pointers(run);
    std::byte* const shared = run.shared_scratch + job->shared_begin;
    const bool is_a = chunk < a_chunks;
    const std::int64_t panel = is_a ? e.row_panel : e.column_panel;
    const Range extent = is_a ? stage.rows : stage.columns;
    const std::int64_t panels = divide_up(extent.size(), panel);
    const auto [begin, end] = is_a ? chunk_range(panels, a_chunks, chunk)
                                   : chunk_range(panels, b_chunks, chunk - a_chunks);
    const std::int64_t first = extent.begin + begin * panel;
    const std::int64_t count = std::min(extent.begin + end * panel, extent.end) - first;
    std::byte* const packed = run.slot_scratch + job->slot_begin + job->slot_a;
    for (std::int64_t block = 0; block * e.depth_block < stage.depth.size(); ++block) {
      const Range depth = piece(stage.depth, e.depth_block, block);
      const std::size_t bytes =
          is_a ? e.a_panel_bytes(depth.size()) : e.b_panel_bytes(depth.size());
      std::byte* to =
          is_a ? shared + job->a_panel(panels, block, begin, depth.size())
               : shared + job->shared_b + job->b_panel(panels, block, begin, depth.size());
      for (std::int64_t done = 0; done < count; done += panel, to += bytes) {
        const std::int64_t across = std::min(panel, count - done);
        if (is_a) {
          e.pack_a(job->source(job->batch.a, at.a, item).from(first + done, depth.begin), across,
                   depth.size(), packed);
        } else {
          e.pack_b(job->source(job->batch.b, at.b, item).from(depth.begin, first + done),
                   depth.size(), across, packed);
        }
        kernels::stream_copy(packed, to, bytes);
      }
    }
    kernels::stream_fence();
  };
  kernel.phases.push_back(std::move(phase));
}

// -- Tiles ---------------------------------------------------------------------------------------

// Computes one tile of a stage from the operands that are packed for it.
void multiply_tile(const GemmJob& job, const KernelRun& run, const Stage& stage, const Tile& tile,
                   const GemmPointers& at, const TileSums& sums) {
  const std::byte* const shared = run.shared_scratch + job.shared_begin;
  PackedRange a, b;
  if (job.tiling.a == Packing::shared) a = {shared, stage.rows, stage.depth.begin};
  if (job.tiling.b == Packing::shared) {
    b = {shared + job.shared_b, stage.columns, stage.depth.begin};
  } else if (job.tiling.b == Packing::prepacked) {
    b = {run.packed, {0, job.tiling.n}, 0};
  }
  multiply_tile(job, run, tile, at, a, b, sums, run.slot_scratch + job.slot_begin);
}

// Adds the phase that computes the tiles of items [first_item, first_item + items) over the ranges
// of a stage.
void add_tiles(Kernel& kernel, const JobRef& job, const Stage& stage, std::int64_t first_item,
               std::int64_t items) {
  const std::int64_t row_tiles = divide_up(stage.rows.size(), job->tiling.tile_rows);
  const std::int64_t column_tiles = divide_up(stage.columns.size(), job->tiling.tile_columns);
  const std::int64_t tiles = items * row_tiles * column_tiles;
  const double work =
      static_cast<double>(items) * multiply_adds(stage.rows, stage.columns, stage.depth);
  Phase phase;
  phase.chunks = chunk_count(
      tiles,
      static_cast<std::int64_t>(kMultiplyAddsPerChunk / (work / static_cast<double>(tiles) + 1)));
  phase.cost_ns = work / kMultiplyAddsPerNs;
  phase.body = [job, stage, first_item, row_tiles, column_tiles, tiles, chunks = phase.chunks](
                   const KernelRun& run, std::int64_t chunk) {
    const GemmPointers at = job->pointers(run);
    const auto [begin, end] = chunk_range(tiles, chunks, chunk);
    for (std::int64_t i = begin; i < end; ++i) {
      const Tile tile{
          .item = first_item + i / (row_tiles * column_tiles),
          .rows = piece(stage.rows, job->tiling.tile_rows, i / column_tiles % row_tiles),
          .columns = piece(stage.columns, job->tiling.tile_columns, i % column_tiles),
          .depth = stage.depth};
      multiply_tile(*job, run, stage, tile, at,
                    {.data = job->c_at(at.c, tile.item, tile.rows.begin, tile.columns.begin),
                     .stride = job->batch.c.row_stride,
                     .accumulate = job->batch.accumulate || stage.depth.begin > 0});
      if (stage.depth.end == job->tiling.k) {
        job->run_epilogue(run, tile.item, tile.rows, tile.columns, at.c);
      }
    }
  };
  kernel.phases.push_back(std::move(phase));
}

// -- Split-K -------------------------------------------------------------------------------------

void add_split_k(Kernel& kernel, const JobRef& job, std::int64_t item) {
  const GemmTiling& tiling = job->tiling;
  const Stage stage{{0, tiling.m}, {0, tiling.n}, {0, tiling.k}};
  const std::int64_t row_tiles = divide_up(tiling.m, tiling.tile_rows);
  const std::int64_t column_tiles = divide_up(tiling.n, tiling.tile_columns);
  Phase tiles;
  tiles.chunks = row_tiles * column_tiles * tiling.split_k;
  tiles.cost_ns = multiply_adds(stage.rows, stage.columns, stage.depth) / kMultiplyAddsPerNs;
  tiles.body = [job, stage, item, row_tiles, column_tiles](const KernelRun& run,
                                                           std::int64_t chunk) {
    const GemmTiling& tiling = job->tiling;
    const std::int64_t part = chunk / (row_tiles * column_tiles);
    const auto [begin, end] = chunk_range(tiling.k, tiling.split_k, part, job->engine->depth_block);
    const Tile tile{.item = item,
                    .rows = piece(stage.rows, tiling.tile_rows, chunk / column_tiles % row_tiles),
                    .columns = piece(stage.columns, tiling.tile_columns, chunk % column_tiles),
                    .depth = {begin, end}};
    const std::int64_t offset = (part * tiling.m + tile.rows.begin) * tiling.n + tile.columns.begin;
    multiply_tile(*job, run, stage, tile, job->pointers(run),
                  {.data = run.shared_scratch + job->shared_begin +
                           offset * static_cast<std::int64_t>(dtype_size(job->batch.c.dtype)),
                   .stride = tiling.n});
  };
  kernel.phases.push_back(std::move(tiles));

  add_split_k_sum(kernel, job, item);
}

// -- Empty products ------------------------------------------------------------------------------

void add_empty(Kernel& kernel, const JobRef& job) {
  const std::int64_t rows = job->batch.count * job->batch.m;
  Phase phase;
  phase.chunks = std::min(std::max<std::int64_t>(rows, 1),
                          chunk_count(rows * job->batch.n, kCopiedElementsPerChunk));
  phase.cost_ns = static_cast<double>(rows * job->batch.n) / kCopiedElementsPerNs;
  phase.body = [job, rows, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const GemmBatch& g = job->batch;
    if (g.n == 0) return;
    const auto [begin, end] = chunk_range(rows, chunks, chunk);
    void* const c = job->pointers(run).c;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t item = i / g.m, row = i % g.m;
      std::byte* const first = job->c_at(c, item, row, 0);
      if (!g.accumulate) std::fill_n(first, times(g.n, dtype_size(g.c.dtype)), std::byte{0});
      job->run_epilogue(run, item, {row, row + 1}, {0, g.n}, c);
    }
  };
  kernel.phases.push_back(std::move(phase));
}

// -- Jobs ----------------------------------------------------------------------------------------

// Chooses the engine and the tiling. Returns true if the batch consists of many small products,
// which keep all workers busy without sharing packed operands.
bool choose_engine_and_tiling(GemmJob& job) {
  const GemmBatch& g = job.batch;
  job.engine = g.batch_invariant ? &invariant_engine(g)
                                 : &kernels::choose_engine(g.c.dtype, g.a.dtype, g.b.dtype,
                                                           g.precision, g.m, g.n, g.k);
  const auto few_stages = [&] {
    return static_cast<double>(g.count) * static_cast<double>(job.tiling.row_ranges()) *
               static_cast<double>(job.tiling.column_ranges()) *
               static_cast<double>(job.tiling.depth_ranges()) <=
           kMaxStages;
  };
  if (g.convert_b != nullptr) {
    job.tiling = column_strips(g.m, g.n, g.k, *job.engine);
    if (few_stages()) return false;
    job.tiling.a = Packing::per_tile;
    job.tiling.range_rows = g.m;
    job.tiling.range_depth = g.k;
    return false;
  }
  const double work = multiply_adds({0, g.m}, {0, g.n}, {0, g.k});
  if (g.count == 1 || work >= kLargeGemm) {
    job.tiling = choose_tiling(g.m, g.n, g.k, false, *job.engine);
    // Every part is a single block of K, so that the parts are added in the order of the blocks.
    if (g.batch_invariant && job.tiling.split_k > 1)
      job.tiling.split_k = divide_up(g.k, job.engine->depth_block);
    if (few_stages()) return false;
  }
  job.tiling = choose_tiling(g.m, g.n, g.k, true, *job.engine);
  return true;
}

// Computes the scratch layout of a job. `reserve(shared, slot)` reserves scratch; both sizes are in
// bytes.
template <class Reserve>
void place_scratch(GemmJob& job, const Reserve& reserve) {
  const GemmTiling& t = job.tiling;
  const GemmEngine& e = *job.engine;
  const std::int64_t blocks = divide_up(t.range_depth, e.depth_block);
  const std::int64_t depth = std::min(t.k, e.depth_block);
  const auto bytes = [](bool wanted, std::int64_t panels, std::size_t each) {
    return wanted ? aligned_size(times(panels, each)) : 0;
  };
  const bool share_a = t.a == Packing::shared, share_b = t.b == Packing::shared;
  const std::size_t a_panel = e.a_panel_bytes(depth), b_panel = e.b_panel_bytes(depth);
  job.shared_b = bytes(share_a, job.row_panels(t.range_rows) * blocks, a_panel);
  job.slot_a = aligned_size(e.multiply_scratch);
  job.slot_b = job.slot_a + bytes(!share_a, job.row_panels(t.tile_rows), a_panel);
  std::size_t shared =
      job.shared_b + bytes(share_b, job.column_panels(t.range_columns) * blocks, b_panel);
  if (t.split_k > 1) shared = times(t.split_k * t.m * t.n, dtype_size(job.batch.c.dtype));
  job.slot_converted =
      job.slot_b + bytes(t.b == Packing::per_tile, job.column_panels(t.tile_columns), b_panel);
  const std::int64_t converted = job.batch.convert_b != nullptr ? t.tile_columns * depth : 0;
  const std::size_t slot = job.slot_converted + times(converted, dtype_size(job.batch.b.dtype));
  // The phase that packs shared operands packs one panel at a time into the worker's scratch.
  const std::size_t panel = std::max(share_a ? a_panel : 0, share_b ? b_panel : 0);
  reserve(shared, std::max(slot, job.slot_a + panel));
}

// Adds the stages of one item. Each stage packs the shared operands and then computes the tiles.
void add_stages(Kernel& kernel, const JobRef& job, std::int64_t item) {
  const GemmTiling& t = job->tiling;
  const bool share_a = t.a == Packing::shared, share_b = t.b == Packing::shared;
  for (std::int64_t i = 0; i < t.row_ranges(); ++i) {
    for (std::int64_t j = 0; j < t.column_ranges(); ++j) {
      for (std::int64_t q = 0; q < t.depth_ranges(); ++q) {
        const Stage stage{piece({0, t.m}, t.range_rows, i), piece({0, t.n}, t.range_columns, j),
                          piece({0, t.k}, t.range_depth, q)};
        if (share_a || share_b) {
          // Operands that the previous stage has already packed are not packed again.
          const bool same_depth = t.depth_ranges() == 1;
          const bool pack_a = share_a && !(same_depth && j > 0);
          const bool pack_b = share_b && !(same_depth && t.column_ranges() == 1 && i > 0);
          if (pack_a || pack_b) add_packing(kernel, job, stage, item, pack_a, pack_b);
        }
        add_tiles(kernel, job, stage, item, 1);
      }
    }
  }
}

}  // namespace
}  // namespace gemm_detail

using namespace gemm_detail;

ParallelGemm::ParallelGemm(Kernel& kernel)
    : kernel_(kernel),
      shared_begin_(aligned_size(kernel.shared_scratch)),
      slot_begin_(aligned_size(kernel.slot_scratch)) {}

void ParallelGemm::add(GemmBatch batch, std::function<GemmPointers(const KernelRun&)> pointers,
                       TileEpilogue epilogue) {
  check_dtypes(batch);
  const auto job = std::make_shared<GemmJob>();
  job->batch = std::move(batch);
  job->pointers = std::move(pointers);
  job->epilogue = std::move(epilogue);
  job->shared_begin = shared_begin_;
  job->slot_begin = slot_begin_;
  const GemmBatch& g = job->batch;
  const auto reserve = [&](std::size_t shared, std::size_t slot) {
    kernel_.shared_scratch = std::max(kernel_.shared_scratch, shared_begin_ + shared);
    kernel_.slot_scratch = std::max(kernel_.slot_scratch, slot_begin_ + slot);
  };
  if (g.count == 0 || g.m == 0 || g.n == 0 || g.k == 0) return add_empty(kernel_, job);
  if (g.convert_b == nullptr && add_skinny_gemm(kernel_, job, reserve)) return;

  const bool many = choose_engine_and_tiling(*job);
  if (g.constant_b && g.count == 1 && !kernel_.packed) {
    job->tiling.b = Packing::prepacked;
    kernel_.packed = prepack_b(job, *g.constant_b);
  }
  place_scratch(*job, reserve);
  if (many) return add_tiles(kernel_, job, {{0, g.m}, {0, g.n}, {0, g.k}}, 0, g.count);
  for (std::int64_t item = 0; item < g.count; ++item) {
    if (job->tiling.split_k > 1) {
      add_split_k(kernel_, job, item);
    } else {
      add_stages(kernel_, job, item);
    }
  }
}

}  // namespace weft

// Sums of the outer products of the rows of each group.
#include "weft/ops/gemm/grouped_job.h"
#include "weft/ops/gemm/tiling.h"

namespace weft {
namespace gemm_detail {
namespace {

// The maximum number of bytes of packed operands that all workers share, unless one depth block
// needs more.
constexpr std::size_t kGroupedSharedBytes = std::size_t{16} << 20;
// The maximum number of ranges of the rows, because phases are stored in a list.
constexpr std::int64_t kMaxRanges = 1 << 12;

Phase packing_phase(double elements, std::int64_t units) {
  Phase phase;
  phase.chunks =
      chunk_count(units, static_cast<std::int64_t>(static_cast<double>(kCopiedElementsPerChunk) *
                                                   static_cast<double>(units) / (elements + 1)));
  phase.cost_ns = elements / kCopiedElementsPerNs;
  return phase;
}

// The depth of a group's product in one stage. A stage processes the depth blocks that begin in a
// range of rows. Depth blocks begin at the first row of their group, so that the bits do not depend
// on other groups.
Range depth_in(const Range& stage, const Range& rows, std::int64_t block) {
  const auto from = [&](std::int64_t row) {  // the first block that begins at `row` or later
    return std::min(
        rows.end,
        rows.begin + divide_up(std::max<std::int64_t>(row - rows.begin, 0), block) * block);
  };
  return {from(stage.begin), from(stage.end)};
}

// Returns the units of a group in a stage, with the given number per group, if the group has rows
// in this stage. The storage is the number of bytes of the panels of A, followed by those of B.
GroupUnits outer_units(const GroupedJob& job, std::int64_t count, std::int64_t depth,
                       std::int64_t overhead) {
  const GemmEngine& e = *job.engine;
  const std::size_t bytes =
      times(job.row_panels(job.batch.m), bytes_over(e.a_panel_bytes, depth, e.depth_block)) +
      times(job.column_panels(job.batch.n), bytes_over(e.b_panel_bytes, depth, e.depth_block));
  return {.count = count, .weight = depth + overhead, .storage = static_cast<std::int64_t>(bytes)};
}

// Packs the rows of A and B in a stage. A unit is a panel of A or B.
void add_outer_packing(Kernel& kernel, const GroupedRef& job, const Range& stage) {
  const GemmBatch& g = job->batch;
  const std::int64_t a_panels = job->row_panels(g.m), b_panels = job->column_panels(g.n);
  Phase phase = packing_phase(multiply_adds(stage.size(), g.m + g.n, 1),
                              (a_panels + b_panels) * std::min(job->groups(), stage.size()));
  phase.body = [job, stage, a_panels, b_panels, chunks = phase.chunks](const KernelRun& run,
                                                                       std::int64_t chunk) {
    const GemmEngine& e = *job->engine;
    const GemmBatch& g = job->batch;
    const GemmPointers at = job->pointers(run);
    const MatrixSource a = job->source(g.a, at.a, 0), b = job->source(g.b, at.b, 0);
    const auto units = [&](std::int64_t group, const Range& rows) -> GroupUnits {
      const Range depth = depth_in(stage, rows, e.depth_block);
      if (group == job->groups() || depth.size() <= 0) return {};
      return outer_units(*job, a_panels + b_panels, depth.size(), 1);
    };
    run_units(job->in(run), chunks, chunk, units, [&](const GroupUnit& unit) {
      const Range depth = depth_in(stage, unit.rows, e.depth_block);
      std::byte* const group = run.shared_scratch + unit.storage;
      std::byte* const group_b =
          group + times(a_panels, bytes_over(e.a_panel_bytes, depth.size(), e.depth_block));
      for (std::int64_t block = 0; block * e.depth_block < depth.size(); ++block) {
        const Range part = piece(depth, e.depth_block, block);
        if (unit.index < a_panels) {
          const Range rows = piece({0, g.m}, e.row_panel, unit.index);
          e.pack_a(a.from(rows.begin, part.begin), rows.size(), part.size(),
                   group + job->a_panel(a_panels, block, unit.index, part.size()));
        } else {
          const std::int64_t panel = unit.index - a_panels;
          const Range columns = piece({0, g.n}, e.column_panel, panel);
          e.pack_b(b.from(part.begin, columns.begin), part.size(), columns.size(),
                   group_b + job->b_panel(b_panels, block, panel, part.size()));
        }
      }
    });
  };
  kernel.phases.push_back(std::move(phase));
}

// Adds the products of a stage to C. A unit is a tile of one matrix of C.
void add_outer_tiles(Kernel& kernel, const GroupedRef& job, const Range& stage) {
  const GemmBatch& g = job->batch;
  const std::int64_t row_tiles = divide_up(g.m, job->tiling.tile_rows);
  const std::int64_t tiles = row_tiles * divide_up(g.n, job->tiling.tile_columns);
  Phase phase = product_phase(multiply_adds(g.m, g.n, stage.size()), tiles * job->groups());
  phase.body = [job, stage, row_tiles, tiles, chunks = phase.chunks](const KernelRun& run,
                                                                     std::int64_t chunk) {
    const GemmEngine& e = *job->engine;
    const GemmBatch& g = job->batch;
    const GemmPointers at = job->pointers(run);
    const auto units = [&](std::int64_t group, const Range& rows) -> GroupUnits {
      const Range depth = depth_in(stage, rows, e.depth_block);
      const bool is_empty = rows.size() == 0 && stage.begin == 0;  // filled with zeros
      if (group == job->groups() || (depth.size() <= 0 && !is_empty)) return {};
      return outer_units(*job, tiles, depth.size(), kRowsOfOverhead);
    };
    run_units(job->in(run), chunks, chunk, units, [&](const GroupUnit& unit) {
      const Tile tile{.item = unit.group,
                      .rows = piece({0, g.m}, job->tiling.tile_rows, unit.index % row_tiles),
                      .columns = piece({0, g.n}, job->tiling.tile_columns, unit.index / row_tiles),
                      .depth = depth_in(stage, unit.rows, e.depth_block)};
      if (unit.rows.size() == 0) return job->fill_zeros(at, tile.item, tile.rows, tile.columns);
      const std::byte* const a = run.shared_scratch + unit.storage;
      const std::byte* const b =
          a + times(job->row_panels(g.m),
                    bytes_over(e.a_panel_bytes, tile.depth.size(), e.depth_block));
      multiply_tile(*job, run, tile, at, {a, {0, g.m}, tile.depth.begin},
                    {b, {0, g.n}, tile.depth.begin},
                    {.data = job->c_at(at.c, tile.item, tile.rows.begin, tile.columns.begin),
                     .stride = g.c.row_stride,
                     .accumulate = tile.depth.begin > unit.rows.begin},
                    run.slot_scratch);
    });
  };
  kernel.phases.push_back(std::move(phase));
}

// Returns the size of the ranges into which `total` is divided: `wanted`, unless there would be too
// many. The size is a multiple of `block` or equal to `total`.
std::int64_t range_size(std::int64_t total, std::int64_t wanted, std::int64_t block) {
  return std::min(std::max(wanted, round_up(divide_up(total, kMaxRanges), block)), total);
}

// Returns an upper bound of the number of bytes of one panel over all groups, if `rows` rows are
// divided into at most `blocks` depth blocks. The number of bytes grows linearly with the depth,
// apart from rounding by at most the size of a panel of depth 1.
std::size_t most_bytes(std::size_t (*bytes)(std::int64_t), std::int64_t rows, std::int64_t blocks,
                       std::int64_t block) {
  return times(blocks, bytes(1)) +
         divide_up(times(rows, bytes(block)), static_cast<std::size_t>(block));
}

}  // namespace
}  // namespace gemm_detail

using namespace gemm_detail;

void add_grouped_outer(Kernel& kernel, GemmBatch batch, const GroupSizes& sizes,
                       std::function<GemmPointers(const KernelRun&)> pointers) {
  const std::int64_t all_rows = batch.k;
  const auto job = make_grouped_job(std::move(batch), sizes, all_rows, std::move(pointers));
  const GemmBatch& g = job->batch;
  if (g.count == 0 || g.m == 0 || g.n == 0 || g.k == 0) {
    return add_zeros(kernel, *job, g.count * g.m);
  }
  choose_grouped_engine(*job, g.m, g.n, job->mean_rows());
  const GemmEngine& e = *job->engine;
  job->tiling = choose_tiling(g.m, g.n, job->mean_rows(), true, e);
  kernel.slot_scratch = job->slot_b;

  const std::int64_t a_panels = job->row_panels(g.m), b_panels = job->column_panels(g.n);
  const std::size_t block_bytes = times(a_panels, e.a_panel_bytes(e.depth_block)) +
                                  times(b_panels, e.b_panel_bytes(e.depth_block));
  const std::int64_t blocks_per_stage =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(kGroupedSharedBytes / block_bytes));
  const std::int64_t stage_rows =
      range_size(all_rows, blocks_per_stage * e.depth_block, e.depth_block);
  // The last block of a stage may extend beyond the rows of the stage.
  const std::int64_t most_rows = std::min(stage_rows + e.depth_block - 1, all_rows);
  const std::int64_t blocks =
      divide_up(stage_rows, e.depth_block) + std::min(job->groups(), stage_rows);
  kernel.shared_scratch =
      times(a_panels, most_bytes(e.a_panel_bytes, most_rows, blocks, e.depth_block)) +
      times(b_panels, most_bytes(e.b_panel_bytes, most_rows, blocks, e.depth_block));
  for (std::int64_t begin = 0; begin < all_rows; begin += stage_rows) {
    const Range stage{begin, std::min(begin + stage_rows, all_rows)};
    add_outer_packing(kernel, job, stage);
    add_outer_tiles(kernel, job, stage);
  }
}

}  // namespace weft

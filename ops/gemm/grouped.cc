#include "weft/ops/gemm/grouped.h"

#include "weft/ops/gemm/grouped_job.h"
#include "weft/ops/gemm/parallel.h"
#include "weft/ops/kernels/gemm/skinny.h"

namespace weft {
namespace gemm_detail {
namespace {

// The maximum number of bytes of packed rows of one worker, unless one depth block needs more. They
// stay in the L2 cache.
constexpr std::size_t kOwnBytes = 1310720;
// A tile packs its columns of the matrix and then multiplies its rows by them. With many rows,
// packing takes a small part of the time. Tiles are smaller if there would not be enough of them
// for all workers, for example if all rows are in one group, but tiles with fewer multiply-adds
// than kSmallTileAdds are not worth the additional packing.
constexpr std::int64_t kMostRows = 512, kLeastRows = 128, kLeastColumns = 128;
constexpr double kWantedUnits = 16, kSmallTileAdds = 1.2e7;
// The columns of the matrix that are packed together. They stay in the L2 cache.
constexpr std::int64_t kStripColumns = 128;

// -- Few rows per group --------------------------------------------------------------------------

using kernels::kSkinnyRows;

// A unit is the product of at most eight rows and a piece of the columns of their matrix.
void add_skinny_groups(Kernel& kernel, const GroupedRef& job) {
  const GemmBatch& g = job->batch;
  const SkinnyPieces pieces =
      skinny_pieces(g.b.dtype, g.b.column_stride, g.n, g.k, job->used_groups());
  kernel.slot_scratch = kernels::skinny_gemm_scratch_bytes(g.c.dtype, kSkinnyRows, g.k);
  const std::int64_t products = g.m / kSkinnyRows + job->used_groups();
  Phase phase;
  phase.chunks = pieces.chunks(products);
  phase.cost_ns = pieces.cost_ns(products);
  phase.body = [job, pieces, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const GemmPointers at = job->pointers(run);
    const auto units = [&](std::int64_t, const Range& rows) -> GroupUnits {
      const std::int64_t parts = divide_up(rows.size(), kSkinnyRows);
      return {.count = parts * pieces.count, .weight = 1};
    };
    run_units(job->in(run), chunks, chunk, units, [&](const GroupUnit& unit) {
      const GemmBatch& g = job->batch;
      const std::int64_t parts = divide_up(unit.rows.size(), kSkinnyRows);
      const auto [first, last] = chunk_range(unit.rows.size(), parts, unit.index % parts);
      const auto [begin, end] =
          chunk_range(g.n, pieces.count, unit.index / parts, pieces.run_length);
      const Range rows{unit.rows.begin + first, unit.rows.begin + last};
      if (unit.group == job->groups()) return job->fill_zeros(at, 0, rows, {begin, end});
      kernels::SkinnyGemm product;
      product.m = rows.size(), product.n = end - begin, product.k = g.k;
      product.a = job->source(g.a, at.a, 0).from(rows.begin, 0);
      product.b = job->source(g.b, at.b, unit.group).from(0, begin);
      product.result = g.c.dtype;
      product.c = job->c_at(at.c, 0, rows.begin, begin);
      product.c_row_stride = g.c.row_stride;
      kernels::skinny_gemm(product, run.slot_scratch);
    });
  };
  kernel.phases.push_back(std::move(phase));
}

// -- Rows times the matrix of their group --------------------------------------------------------

// Returns the maximum number of rows of a tile. More rows are worth it only if tiles pack B,
// because the packed rows then do not fit in the L2 cache.
std::int64_t most_rows(const GroupedJob& job) {
  return job.tiling.b == Packing::prepacked ? kMostRows / 2 : kMostRows;
}

// The tiles of all groups in one run. A tile consists of some rows of a group and of some columns
// of the matrix. The sizes of tiles have no effect on the bits.
struct RowTiles {
  std::int64_t rows = 0;          // the maximum number of rows of a tile
  std::int64_t column_parts = 1;  // every group has this many tiles side by side

  RowTiles(const GroupedJob& job, const GroupRows& groups) {
    const std::int64_t n = job.batch.n, most_parts = std::max<std::int64_t>(1, n / kLeastColumns);
    for (rows = most_rows(job);; rows /= 2) {
      std::int64_t tiles = 0, all_rows = 0;
      groups.for_each([&](std::int64_t group, const Range& range) {
        if (group == groups.groups) return;
        tiles += count(range);
        all_rows += range.size();
      });
      // The number of tiles for which it is worth dividing the work.
      const double work = multiply_adds(all_rows, n, job.batch.k);
      const auto wanted =
          static_cast<std::int64_t>(std::clamp(work / kSmallTileAdds, 1.0, kWantedUnits));
      column_parts =
          std::clamp<std::int64_t>(wanted / std::max<std::int64_t>(tiles, 1), 1, most_parts);
      if (rows == kLeastRows || tiles * column_parts >= wanted) return;
    }
  }
  std::int64_t count(const Range& range) const { return divide_up(range.size(), rows); }
};

// Computes a tile: packs its rows once for each range of the depth, and the columns of the matrix
// strip by strip.
void multiply_rows(const GroupedJob& job, const KernelRun& run, const Tile& tile) {
  const GemmEngine& e = *job.engine;
  const GemmBatch& g = job.batch;
  const GemmPointers at = job.pointers(run);
  const MatrixSource a = job.source(g.a, at.a, 0);
  std::byte* const own_a = run.slot_scratch + job.slot_a;
  PackedRange packed_b;
  if (job.tiling.b == Packing::prepacked) {
    packed_b = {run.packed + times(tile.item, packed_b_bytes(job)), {0, g.n}, 0};
  }
  for (std::int64_t begin = tile.depth.begin; begin < tile.depth.end; begin += job.range_depth) {
    const Range depth{begin, std::min(begin + job.range_depth, tile.depth.end)};
    for (std::int64_t block = 0; block * e.depth_block < depth.size(); ++block) {
      const Range part = piece(depth, e.depth_block, block);
      e.pack_a(a.from(tile.rows.begin, part.begin), tile.rows.size(), part.size(),
               own_a + job.a_panel(job.row_panels(tile.rows.size()), block, 0, part.size()));
    }
    for (std::int64_t column = tile.columns.begin; column < tile.columns.end; column += job.strip) {
      const Range columns{column, std::min(column + job.strip, tile.columns.end)};
      multiply_tile(job, run, {tile.item, tile.rows, columns, depth}, at,
                    {own_a, tile.rows, depth.begin}, packed_b,
                    {.data = job.c_at(at.c, 0, tile.rows.begin, column),
                     .stride = g.c.row_stride,
                     .accumulate = begin > tile.depth.begin},
                    run.slot_scratch);
    }
  }
}

// A unit is a tile of a group, or a range of rows without a group.
void add_row_tiles(Kernel& kernel, const GroupedRef& job) {
  const GemmBatch& g = job->batch;
  const std::int64_t most_tiles =
      (g.m / kLeastRows + job->used_groups()) * std::max<std::int64_t>(1, g.n / kLeastColumns);
  Phase phase = product_phase(multiply_adds(g.m, g.n, g.k), most_tiles);
  phase.body = [job, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const GroupRows groups = job->in(run);
    const RowTiles tiles(*job, groups);
    const auto units = [&](std::int64_t group, const Range& rows) -> GroupUnits {
      if (rows.size() == 0) return {};
      const std::int64_t count = tiles.count(rows);
      if (group == job->groups()) return {.count = count, .weight = kRowsOfOverhead};
      return {.count = count * tiles.column_parts, .weight = rows.size() / count + kRowsOfOverhead};
    };
    run_units(groups, chunks, chunk, units, [&](const GroupUnit& unit) {
      const std::int64_t count = tiles.count(unit.rows), n = job->batch.n;
      const auto [first, last] =
          chunk_range(unit.rows.size(), count, unit.index % count, job->engine->row_panel);
      const Range rows{unit.rows.begin + first, unit.rows.begin + last};
      if (unit.group == job->groups()) {
        return job->fill_zeros(job->pointers(run), 0, rows, {0, n});
      }
      const auto [begin, end] =
          chunk_range(n, tiles.column_parts, unit.index / count, job->engine->column_panel);
      multiply_rows(*job, run, {unit.group, rows, {begin, end}, {0, job->batch.k}});
    });
  };
  kernel.phases.push_back(std::move(phase));
}

}  // namespace

std::shared_ptr<GroupedJob> make_grouped_job(
    GemmBatch batch, const GroupSizes& sizes, std::int64_t rows,
    std::function<GemmPointers(const KernelRun&)> pointers) {
  check_dtypes(batch);
  auto job = std::make_shared<GroupedJob>();
  job->batch = std::move(batch);
  job->pointers = std::move(pointers);
  job->sizes = sizes;
  job->rows = rows;
  return job;
}

void choose_grouped_engine(GroupedJob& job, std::int64_t m, std::int64_t n, std::int64_t k) {
  const GemmBatch& g = job.batch;
  job.engine = g.batch_invariant
                   ? &invariant_engine(g)
                   : &kernels::choose_engine(g.c.dtype, g.a.dtype, g.b.dtype, g.precision, m, n, k);
  job.slot_a = job.slot_b = aligned_size(job.engine->multiply_scratch);
}

void add_zeros(Kernel& kernel, const GroupedJob& job, std::int64_t rows) {
  GemmBatch zeros;
  zeros.m = rows, zeros.n = job.batch.n;
  zeros.a.dtype = zeros.b.dtype = zeros.c.dtype = job.batch.c.dtype;
  zeros.c.row_stride = zeros.n;
  ParallelGemm(kernel).add(std::move(zeros), job.pointers);
}

}  // namespace gemm_detail

using namespace gemm_detail;

void add_grouped_gemm(Kernel& kernel, GemmBatch batch, const GroupSizes& sizes,
                      std::function<GemmPointers(const KernelRun&)> pointers) {
  const std::int64_t all_rows = batch.m;
  const auto job = make_grouped_job(std::move(batch), sizes, all_rows, std::move(pointers));
  const GemmBatch& g = job->batch;
  if (g.count == 0 || g.m == 0 || g.n == 0 || g.k == 0) return add_zeros(kernel, *job, g.m);
  choose_grouped_engine(*job, job->mean_rows(), g.n, g.k);
  // In batch-invariant programs, groups with few rows need the bits of the engine.
  if (job->mean_rows() <= kSkinnyRows && (!g.batch_invariant || job->engine == &plain_engine(g)))
    return add_skinny_groups(kernel, job);
  const GemmEngine& e = *job->engine;
  if (g.constant_b) {
    job->tiling.b = Packing::prepacked;
    kernel.packed = prepack_b(job, *g.constant_b);
  }
  job->strip = round_up(divide_up(g.n, divide_up(g.n, kStripColumns)), e.column_panel);
  const std::int64_t panels = job->row_panels(std::min(most_rows(*job), g.m));
  const std::int64_t blocks = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(kOwnBytes / times(panels, e.a_panel_bytes(e.depth_block))));
  job->range_depth = std::min(blocks * e.depth_block, g.k);
  job->slot_b =
      job->slot_a + times(panels, bytes_over(e.a_panel_bytes, job->range_depth, e.depth_block));
  kernel.slot_scratch = job->slot_b;
  if (!g.constant_b) {
    kernel.slot_scratch +=
        times(job->column_panels(job->strip), e.b_panel_bytes(std::min(g.k, e.depth_block)));
  }
  add_row_tiles(kernel, job);
}

}  // namespace weft

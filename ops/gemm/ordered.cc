// Skinny products of batch-invariant programs. Products with few rows are summed in the order of
// the FMA engine, which computes the products with more rows.
#include "weft/ops/kernels/gemm/ordered.h"

#include "weft/ops/gemm/detail.h"

namespace weft::gemm_detail {
namespace {

// The number of bytes of B that a chunk reads if its columns are contiguous.
constexpr std::int64_t kOrderedChunkBytes = 1 << 18;
// If the rows of B are contiguous and B has at least kOrderedSplitElements elements, every chunk
// reads part of a block of K, so that it reads long runs of memory. kOrderedParts is the number of
// chunks.
constexpr std::int64_t kOrderedSplitElements = 1 << 18, kOrderedParts = 8, kOrderedRun = 512;

kernels::SkinnyGemm ordered_piece(const GemmJob& job, const GemmPointers& at, std::int64_t item,
                                  const Range& columns, const Range& depth) {
  const GemmBatch& batch = job.batch;
  kernels::SkinnyGemm g;
  g.m = batch.m, g.n = columns.size(), g.k = depth.size();
  g.a = job.source(batch.a, at.a, item).from(0, depth.begin);
  g.b = job.source(batch.b, at.b, item).from(depth.begin, columns.begin);
  g.result = batch.c.dtype;
  g.c = job.c_at(at.c, item, 0, columns.begin);
  g.c_row_stride = batch.c.row_stride;
  g.accumulate = batch.accumulate;
  return g;
}

// Every chunk computes the sums of one block of K for some columns; a second phase adds the blocks
// in order, as the engine does.
void add_ordered_blocks(Kernel& kernel, const JobRef& job, std::int64_t pieces) {
  const std::int64_t block = job->engine->depth_block;
  Phase phase;
  phase.chunks = job->tiling.split_k * pieces;
  phase.cost_ns = skinny_pieces(job->batch.b.dtype, 1, job->batch.n, job->batch.k, 1).cost_ns(1);
  phase.body = [job, block, pieces](const KernelRun& run, std::int64_t chunk) {
    const GemmTiling& t = job->tiling;
    const std::int64_t part = chunk / pieces;
    const auto [first, last] = chunk_range(t.n, pieces, chunk % pieces, kernels::kOrderedColumns);
    kernels::SkinnyGemm g =
        ordered_piece(*job, job->pointers(run), 0, {first, last}, piece({0, t.k}, block, part));
    g.c = run.shared_scratch + job->shared_begin +
          times(part * t.m * t.n + first, dtype_size(g.result));
    g.c_row_stride = t.n;
    g.accumulate = false;
    if (g.n > 0) kernels::ordered_gemm(g, run.slot_scratch + job->slot_begin);
  };
  kernel.phases.push_back(std::move(phase));
  add_split_k_sum(kernel, job, 0);
}

void add_ordered_pieces(Kernel& kernel, const JobRef& job) {
  const GemmBatch& batch = job->batch;
  const bool rows = batch.b.column_stride == 1;
  SkinnyPieces pieces = skinny_pieces(batch.b.dtype, batch.b.column_stride, batch.n, batch.k, 1);
  if (!rows) {
    pieces.run_length = kernels::kOrderedColumns;
    pieces.count =
        std::min(chunk_count(static_cast<std::int64_t>(pieces.bytes), kOrderedChunkBytes),
                 divide_up(batch.n, pieces.run_length));
  }
  Phase phase;
  phase.chunks = pieces.chunks(batch.count);
  phase.cost_ns = pieces.cost_ns(batch.count);
  phase.body = [job, pieces, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const GemmBatch& batch = job->batch;
    const GemmPointers at = job->pointers(run);
    const auto [begin, end] = chunk_range(batch.count * pieces.count, chunks, chunk);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t item = i / pieces.count;
      const auto [first, last] =
          chunk_range(batch.n, pieces.count, i % pieces.count, pieces.run_length);
      if (first == last) continue;
      kernels::ordered_gemm(ordered_piece(*job, at, item, {first, last}, {0, batch.k}),
                            run.slot_scratch + job->slot_begin);
      job->run_epilogue(run, item, {0, batch.m}, {first, last}, at.c);
    }
  };
  kernel.phases.push_back(std::move(phase));
}

}  // namespace

const GemmEngine& invariant_engine(const GemmBatch& g) {
  // The engine for any number of rows is the one for many rows.
  constexpr std::int64_t kManyRows = std::int64_t{1} << 20;
  return kernels::choose_engine(g.c.dtype, g.a.dtype, g.b.dtype, g.precision, kManyRows, g.n, g.k);
}

bool add_invariant_skinny(Kernel& kernel, const std::shared_ptr<GemmJob>& job,
                          const std::function<void(std::size_t, std::size_t)>& reserve) {
  const GemmBatch& batch = job->batch;
  // Few columns, which no batch changes: each row of A is multiplied by all of them, in an order
  // that does not depend on the other rows.
  if (batch.n <= kernels::kSkinnyRows &&
      kernels::skinny_gemm_fits({nullptr, DType::f32, batch.a.column_stride, batch.a.row_stride})) {
    add_few_columns(kernel, job, reserve);
    return true;
  }
  job->engine = &invariant_engine(batch);
  if (batch.m > kernels::kOrderedRows || job->engine != &kernels::fma_engine(batch.c.dtype) ||
      !kernels::skinny_gemm_fits({nullptr, DType::f32, batch.b.row_stride, batch.b.column_stride}))
    return false;
  const std::int64_t blocks = divide_up(batch.k, job->engine->depth_block);
  const bool split = batch.count == 1 && batch.b.column_stride == 1 && blocks > 1 &&
                     batch.n * batch.k >= kOrderedSplitElements;
  reserve(split ? times(blocks * batch.m * batch.n, dtype_size(batch.c.dtype)) : 0,
          kernels::ordered_gemm_scratch_bytes(batch.c.dtype, batch.k));
  if (split) {
    GemmTiling& tiling = job->tiling;
    tiling.m = batch.m, tiling.n = batch.n, tiling.k = batch.k, tiling.split_k = blocks;
    add_ordered_blocks(
        kernel, job,
        std::clamp<std::int64_t>(kOrderedParts / blocks, 1, divide_up(batch.n, kOrderedRun)));
  } else {
    add_ordered_pieces(kernel, job);
  }
  return true;
}

}  // namespace weft::gemm_detail

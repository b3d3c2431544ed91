// Skinny products (few rows or few columns). No operand is packed; the large operand is read once,
// in its original layout.
#include "weft/ops/kernels/gemm/skinny.h"
#include "weft/ops/gemm/detail.h"
#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/ops/kernels/gemm/few_rows.h"

namespace weft::gemm_detail {
namespace {

constexpr double kReadBytesPerNs = 15;  // for one core, used for Phase::cost_ns

// The approximate number of bytes of the large operand that a chunk reads.
constexpr double kChunkBytes = 1 << 17;
// Columns are divided at multiples of these numbers. If the rows of B are contiguous, a chunk reads
// long runs of the rows if B is in memory; shorter runs suffice if B is in cache. If the columns of
// B are contiguous, each column is a run by itself.
constexpr std::int64_t kRowRun = 512, kCachedRowRun = 64, kColumns = 8;
constexpr double kCachedBytes = 1 << 24;
// With more than kSkinnyRows rows, B must have at least this many elements.
constexpr std::int64_t kStreamedElements = 1 << 18;
// The maximum number of elements of the partial sums of a split-K product.
constexpr std::int64_t kSplitElements = 1 << 22;
// Split-K products have at most this number of chunks, unless there are more blocks of K. Every
// chunk reads at least kPartElements elements of B in runs of about kSplitRun elements.
constexpr std::int64_t kMaxParts = 16, kPartElements = 1 << 17, kSplitRun = 1536;

// Computes the columns in `range` of a product with few rows. If `transposed`, computes C^T = B^T
// A^T for the rows in `range` of a product with few columns.
void multiply_piece(const GemmJob& job, const KernelRun& run, std::int64_t item, bool transposed,
                    const Range& range) {
  const GemmBatch& batch = job.batch;
  const GemmPointers at = job.pointers(run);
  const MatrixSource a = job.source(batch.a, at.a, item);
  const MatrixSource b = job.source(batch.b, at.b, item);
  kernels::SkinnyGemm g;
  g.n = range.size();
  g.k = batch.k;
  g.result = batch.c.dtype;
  g.accumulate = batch.accumulate;
  if (transposed) {
    g.m = batch.n;
    g.a = b.transposed(), g.b = a.from(range.begin, 0).transposed();
    g.c = job.c_at(at.c, item, range.begin, 0);
    g.c_row_stride = 1, g.c_column_stride = batch.c.row_stride;
  } else {
    g.m = batch.m;
    g.a = a, g.b = b.from(0, range.begin);
    g.c = job.c_at(at.c, item, 0, range.begin);
    g.c_row_stride = batch.c.row_stride, g.c_column_stride = 1;
  }
  kernels::skinny_gemm(g, run.slot_scratch + job.slot_begin);
  const Range few{0, g.m};
  job.run_epilogue(run, item, transposed ? range : few, transposed ? few : range, at.c);
}

// The blocks of K if the rows of B are contiguous.
std::int64_t depth_block(const GemmJob& job) {
  return kernels::fma_engine(job.batch.c.dtype).depth_block;
}

// Adds a split-K product for a large B with contiguous rows, in which every chunk reads long runs
// of memory. The parts are blocks of K, which are added in the order of the engine. The columns are
// divided into `pieces`.
void add_split_k(Kernel& kernel, const JobRef& job, bool transposed, std::int64_t pieces) {
  const std::int64_t m = job->tiling.m, n = job->tiling.n;
  Phase phase;
  phase.chunks = job->tiling.split_k * pieces;
  phase.cost_ns = static_cast<double>(transposed ? m : n) * static_cast<double>(job->tiling.k) * 4 /
                  kReadBytesPerNs;
  phase.body = [job, transposed, pieces, m, n, block = depth_block(*job)](const KernelRun& run,
                                                                          std::int64_t chunk) {
    const GemmPointers at = job->pointers(run);
    const std::int64_t part = chunk / pieces;
    const auto [begin, end] = piece({0, job->tiling.k}, block, part);
    const auto [first, last] =
        chunk_range(transposed ? m : n, pieces, chunk % pieces, kCachedRowRun);
    const MatrixSource a = job->source(job->batch.a, at.a, 0).from(transposed ? first : 0, begin);
    const MatrixSource b = job->source(job->batch.b, at.b, 0).from(begin, transposed ? 0 : first);
    kernels::SkinnyGemm g;
    g.m = transposed ? n : m, g.n = last - first, g.k = end - begin;
    if (g.n == 0) return;
    g.a = transposed ? b.transposed() : a, g.b = transposed ? a.transposed() : b;
    g.result = job->batch.c.dtype;
    g.c = run.shared_scratch + job->shared_begin +
          times(part * m * n + first * (transposed ? n : 1), dtype_size(g.result));
    g.c_row_stride = transposed ? 1 : n, g.c_column_stride = transposed ? n : 1;
    kernels::skinny_gemm(g, run.slot_scratch + job->slot_begin);
  };
  kernel.phases.push_back(std::move(phase));
  add_split_k_sum(kernel, job, 0);
}

void add_pieces(Kernel& kernel, const JobRef& job, bool transposed) {
  const GemmBatch& batch = job->batch;
  const std::int64_t many = transposed ? batch.m : batch.n;
  const GemmOperand& large = transposed ? batch.a : batch.b;
  const SkinnyPieces pieces = skinny_pieces(
      large.dtype, transposed ? large.row_stride : large.column_stride, many, batch.k, 1);
  const std::int64_t all = batch.count * pieces.count;
  Phase phase;
  phase.chunks = pieces.chunks(batch.count);
  phase.cost_ns = pieces.cost_ns(batch.count);
  phase.body = [job, transposed, many, pieces, all, chunks = phase.chunks](const KernelRun& run,
                                                                           std::int64_t chunk) {
    const auto [begin, end] = chunk_range(all, chunks, chunk);
    for (std::int64_t i = begin; i < end; ++i) {
      const auto [first, last] =
          chunk_range(many, pieces.count, i % pieces.count, pieces.run_length);
      multiply_piece(*job, run, i / pieces.count, transposed, {first, last});
    }
  };
  kernel.phases.push_back(std::move(phase));
}

// Adds a product of few rows with a bfloat16 matrix on a unit for dot products. The first phase
// rounds the rows of A.
void add_dots(Kernel& kernel, const JobRef& job, kernels::Bf16Unit unit) {
  const GemmBatch& batch = job->batch;
  const std::int64_t rows = kernels::dot_rows(batch.m);
  Phase round;
  round.chunks = std::min(rows, chunk_count(rows * batch.k, kCopiedElementsPerChunk));
  round.cost_ns = static_cast<double>(rows * batch.k) / kCopiedElementsPerNs;
  round.body = [job, unit, rows, chunks = round.chunks](const KernelRun& run, std::int64_t chunk) {
    const MatrixSource a = job->source(job->batch.a, job->pointers(run).a, 0);
    const auto [begin, end] = chunk_range(rows, chunks, chunk);
    for (std::int64_t row = begin; row < end; ++row) {
      kernels::round_few_rows(unit, a, job->batch.m, job->batch.k, row,
                              run.shared_scratch + job->shared_begin);
    }
  };
  kernel.phases.push_back(std::move(round));
  const SkinnyPieces pieces =
      skinny_pieces(batch.b.dtype, batch.b.column_stride, batch.n, batch.k, 1);
  Phase dots;
  dots.chunks = pieces.count;
  dots.cost_ns = pieces.cost_ns(1);
  dots.body = [job, unit, pieces](const KernelRun& run, std::int64_t chunk) {
    const GemmBatch& g = job->batch;
    const GemmPointers at = job->pointers(run);
    const auto [first, last] = chunk_range(g.n, pieces.count, chunk, pieces.run_length);
    if (first == last) return;
    kernels::few_rows_gemm(unit,
                           {.m = g.m,
                            .n = last - first,
                            .k = g.k,
                            .a = job->source(g.a, at.a, 0),
                            .b = job->source(g.b, at.b, 0).from(0, first),
                            .c = job->c_at(at.c, 0, 0, first),
                            .c_row_stride = g.c.row_stride,
                            .accumulate = g.accumulate},
                           run.shared_scratch + job->shared_begin,
                           run.slot_scratch + job->slot_begin);
    job->run_epilogue(run, 0, {0, g.m}, {first, last}, at.c);
  };
  kernel.phases.push_back(std::move(dots));
}

// Returns the unit for add_dots(), or nullopt if the operands or the CPU do not fit. The engine of
// batch-invariant products does not have its bits.
std::optional<kernels::Bf16Unit> dots_unit(const GemmBatch& batch) {
  const auto source = [](const GemmOperand& operand) {
    return MatrixSource{nullptr, operand.dtype, operand.row_stride, operand.column_stride};
  };
  if (batch.m > kernels::kMostSkinnyRows || batch.count != 1 || batch.batch_invariant ||
      batch.c.dtype != DType::f32 || !kernels::few_rows_fit(source(batch.a), source(batch.b)))
    return std::nullopt;
  return kernels::choose_few_rows_unit(batch.precision, batch.n, batch.k);
}

// Returns true if B should be streamed although there are more than kSkinnyRows rows. This is the
// case if B is too large for the caches, so that packing it would cost as much as the product. A
// must be contiguous, because copies of this number of rows could take much scratch memory.
bool streams_rows(const GemmBatch& batch) {
  return batch.m <= kernels::kMostSkinnyRows && batch.count == 1 && !batch.constant_b &&
         batch.n * batch.k >= kStreamedElements && batch.a.dtype == batch.c.dtype &&
         batch.a.column_stride == 1;
}

}  // namespace

SkinnyPieces skinny_pieces(DType dtype, std::int64_t column_stride, std::int64_t columns,
                           std::int64_t k, std::int64_t matrices) {
  SkinnyPieces pieces;
  pieces.bytes = static_cast<double>(columns) * static_cast<double>(k) *
                 static_cast<double>(dtype_size(dtype));
  const bool in_cache = static_cast<double>(matrices) * pieces.bytes <= kCachedBytes;
  pieces.run_length = column_stride != 1 ? kColumns : in_cache ? kCachedRowRun : kRowRun;
  // Chunks with long columns read more of them, because they may copy the rows of A.
  const bool is_long =
      column_stride != 1 && k * static_cast<std::int64_t>(sizeof(float)) > kernels::kLaneDepthBytes;
  pieces.count =
      std::min(chunk_count(static_cast<std::int64_t>(pieces.bytes),
                           static_cast<std::int64_t>(is_long ? 2 * kChunkBytes : kChunkBytes)),
               divide_up(columns, pieces.run_length));
  return pieces;
}

std::int64_t SkinnyPieces::chunks(std::int64_t products) const {
  return chunk_count(products * count, static_cast<std::int64_t>(
                                           kChunkBytes * static_cast<double>(count) / (bytes + 1)));
}

double SkinnyPieces::cost_ns(std::int64_t products) const {
  return static_cast<double>(products) * bytes / kReadBytesPerNs;
}

bool add_skinny_gemm(Kernel& kernel, const std::shared_ptr<GemmJob>& job,
                     const std::function<void(std::size_t, std::size_t)>& reserve) {
  const GemmBatch& batch = job->batch;
  if (const auto unit = dots_unit(batch)) {
    reserve(kernels::few_rows_bytes(batch.m, batch.k), kernels::few_rows_scratch_bytes());
    add_dots(kernel, job, *unit);
    return true;
  }
  const auto fits = [](std::int64_t row_stride, std::int64_t column_stride) {
    return kernels::skinny_gemm_fits({nullptr, DType::f32, row_stride, column_stride});
  };
  bool few_rows = (batch.m <= kernels::kSkinnyRows || streams_rows(batch)) &&
                  fits(batch.b.row_stride, batch.b.column_stride);
  const bool few_columns =
      batch.n <= kernels::kSkinnyRows && fits(batch.a.row_stride, batch.a.column_stride);
  // The choice must not depend on the number of rows. Few columns are not changed by any batch.
  if (batch.batch_invariant)
    few_rows = few_rows && !few_columns && &invariant_engine(batch) == &plain_engine(batch);
  if (!few_rows && !few_columns) return false;
  const bool rows = (few_rows ? batch.b.column_stride : batch.a.row_stride) == 1;
  const std::int64_t many = few_rows ? batch.n : batch.m;
  const std::int64_t chunks = std::min(many * batch.k / kPartElements, kMaxParts);
  const std::int64_t blocks = divide_up(batch.k, depth_block(*job));
  const bool splits =
      batch.count == 1 && rows && chunks > 1 && blocks * batch.m * batch.n <= kSplitElements;
  const std::int64_t parts = splits ? blocks : 1;
  const bool streams = few_rows && batch.m > kernels::kSkinnyRows;
  reserve(parts > 1 ? times(parts * batch.m * batch.n, dtype_size(batch.c.dtype)) : 0,
          kernels::skinny_gemm_scratch_bytes(batch.c.dtype, few_rows ? batch.m : batch.n,
                                             streams ? 0 : batch.k));
  if (parts > 1) {
    GemmTiling& tiling = job->tiling;
    tiling.m = batch.m, tiling.n = batch.n, tiling.k = batch.k, tiling.split_k = parts;
    add_split_k(kernel, job, !few_rows,
                std::clamp<std::int64_t>(chunks / blocks, 1, divide_up(many, kSplitRun)));
  } else {
    add_pieces(kernel, job, !few_rows);
  }
  return true;
}

const GemmEngine& plain_engine(const GemmBatch& g) {
  return kernels::row_order_engine(g.c.dtype,
                                   {nullptr, g.b.dtype, g.b.row_stride, g.b.column_stride});
}

const GemmEngine& invariant_engine(const GemmBatch& g) {
  // The engine for any number of rows is the one for many rows.
  constexpr std::int64_t kManyRows = std::int64_t{1} << 20;
  const GemmEngine& engine =
      kernels::choose_engine(g.c.dtype, g.a.dtype, g.b.dtype, g.precision, kManyRows, g.n, g.k);
  return &engine == &kernels::fma_engine(g.c.dtype) ? plain_engine(g) : engine;
}

}  // namespace weft::gemm_detail

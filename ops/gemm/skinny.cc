// Products of a few rows: no operand is packed, the large one is read once as it lies.
#include "weft/ops/kernels/gemm/skinny.h"
#include "weft/ops/gemm/detail.h"

namespace weft::products {
namespace {

constexpr double kReadBytesPerNs = 15;  // of one core, for Phase::cost_ns

// Chunks read about so many bytes of the large operand.
constexpr double kChunkBytes = 1 << 17;
// Columns are cut at multiples of these: rows of a B in memory are read in long runs (in cache,
// shorter ones do), columns are runs already.
constexpr std::int64_t kRowRun = 512, kCachedRowRun = 64, kColumns = 8;
constexpr double kCachedBytes = 1 << 24;
// Parts of the depth have at least so many elements of B, by number and not by bytes, so that
// narrow numbers give the bits of those they stand for.
constexpr std::int64_t kPartElements = 1 << 17, kMostParts = 16, kLeastPartDepth = 16;

// `transposed` computes C^T = B^T A^T, for few columns.
void few_rows_piece(const Product& p, const KernelRun& run, std::int64_t product, bool transposed,
                    const Range& range) {
  const ProductPointers at = p.pointers(run);
  const MatrixSource a = p.source(p.shape.a, at.a, product);
  const MatrixSource b = p.source(p.shape.b, at.b, product);
  kernels::FewRowsProblem g;
  g.n = range.size();
  g.k = p.shape.k;
  g.result = p.shape.c.dtype;
  g.accumulate = p.shape.accumulate;
  if (transposed) {
    g.m = p.shape.n;
    g.a = b.transposed(), g.b = a.from(range.begin, 0).transposed();
    g.c = p.c_at(at.c, product, range.begin, 0);
    g.c_row_stride = 1, g.c_column_stride = p.shape.c.row_stride;
  } else {
    g.m = p.shape.m;
    g.a = a, g.b = b.from(0, range.begin);
    g.c = p.c_at(at.c, product, 0, range.begin);
    g.c_row_stride = p.shape.c.row_stride, g.c_column_stride = 1;
  }
  kernels::few_rows(g, run.slot_scratch + p.slot_begin);
  const Range few{0, g.m};
  p.finished(run, product, transposed ? range : few, transposed ? few : range, at.c);
}

// B has contiguous rows and is large: parts of the depth, each a run of memory, are summed apart.
// (Pieces of columns would read short runs, at 0.6 of the speed.)
void add_few_rows_in_parts(Kernel& kernel, const ProductRef& p, bool transposed) {
  const std::int64_t m = p->plan.m, n = p->plan.n;
  Phase phase;
  phase.chunks = p->plan.depth_parts;
  phase.cost_ns = static_cast<double>(transposed ? m : n) * static_cast<double>(p->plan.k) * 4 /
                  kReadBytesPerNs;
  phase.body = [p, transposed, m, n](const KernelRun& run, std::int64_t part) {
    const ProductPointers at = p->pointers(run);
    const auto [begin, end] = chunk_range(p->plan.k, p->plan.depth_parts, part);
    const MatrixSource a = p->source(p->shape.a, at.a, 0).from(0, begin);
    const MatrixSource b = p->source(p->shape.b, at.b, 0).from(begin, 0);
    kernels::FewRowsProblem g;
    g.m = transposed ? n : m, g.n = transposed ? m : n, g.k = end - begin;
    g.a = transposed ? b.transposed() : a, g.b = transposed ? a.transposed() : b;
    g.result = p->shape.c.dtype;
    g.c = run.shared_scratch + p->shared_begin + times(part * m * n, dtype_size(g.result));
    g.c_row_stride = transposed ? 1 : n, g.c_column_stride = transposed ? n : 1;
    kernels::few_rows(g, run.slot_scratch + p->slot_begin);
  };
  kernel.phases.push_back(std::move(phase));
  add_sum_of_parts(kernel, p, 0);
}

void add_few_rows(Kernel& kernel, const ProductRef& p, bool transposed) {
  const std::int64_t many = transposed ? p->shape.m : p->shape.n;
  const bool rows = (transposed ? p->shape.a.row_stride : p->shape.b.column_stride) == 1;
  const double bytes =
      static_cast<double>(many) * static_cast<double>(p->shape.k) *
      static_cast<double>(dtype_size((transposed ? p->shape.a : p->shape.b).dtype));
  const std::int64_t run_length = !rows ? kColumns : bytes > kCachedBytes ? kRowRun : kCachedRowRun;
  const std::int64_t pieces = std::min(
      chunk_count(static_cast<std::int64_t>(bytes), static_cast<std::int64_t>(kChunkBytes)),
      divide_up(many, run_length));
  const std::int64_t all = p->shape.products * pieces;
  Phase phase;
  phase.chunks = chunk_count(
      all, static_cast<std::int64_t>(kChunkBytes * static_cast<double>(pieces) / (bytes + 1)));
  phase.cost_ns = static_cast<double>(p->shape.products) * bytes / kReadBytesPerNs;
  phase.body = [p, transposed, many, pieces, run_length, all, chunks = phase.chunks](
                   const KernelRun& run, std::int64_t chunk) {
    const auto [begin, end] = chunk_range(all, chunks, chunk);
    for (std::int64_t i = begin; i < end; ++i) {
      const auto [first, last] = chunk_range(many, pieces, i % pieces, run_length);
      few_rows_piece(*p, run, i / pieces, transposed, {first, last});
    }
  };
  kernel.phases.push_back(std::move(phase));
}

}  // namespace

bool add_few_rows_product(Kernel& kernel, const std::shared_ptr<Product>& p,
                          const std::function<void(std::size_t, std::size_t)>& reserve) {
  const ProductShape& s = p->shape;
  const auto fits = [](std::int64_t row_stride, std::int64_t column_stride) {
    return kernels::few_rows_fits({nullptr, DType::f32, row_stride, column_stride});
  };
  const bool few_rows = s.m <= kernels::kFewRows && fits(s.b.row_stride, s.b.column_stride);
  const bool few_columns = s.n <= kernels::kFewRows && fits(s.a.row_stride, s.a.column_stride);
  if (!few_rows && !few_columns) return false;
  const bool rows = (few_rows ? s.b.column_stride : s.a.row_stride) == 1;
  const std::int64_t parts = s.products == 1 && rows
                                 ? std::min({(few_rows ? s.n : s.m) * s.k / kPartElements,
                                             kMostParts, s.k / kLeastPartDepth})
                                 : 1;
  reserve(parts > 1 ? times(parts * s.m * s.n, dtype_size(s.c.dtype)) : 0,
          kernels::few_rows_scratch_bytes(s.c.dtype, s.k));
  if (parts > 1) {
    p->plan.m = s.m, p->plan.n = s.n, p->plan.k = s.k, p->plan.depth_parts = parts;
    add_few_rows_in_parts(kernel, p, !few_rows);
  } else {
    add_few_rows(kernel, p, !few_rows);
  }
  return true;
}

}  // namespace weft::products

// The last phase of split-K products, in which the partial sums are added.
#include <algorithm>

#include "weft/ops/gemm/detail.h"

namespace weft::gemm_detail {
namespace {

template <class T>
void add_parts(const GemmJob& job, const KernelRun& run, void* c_data, std::int64_t item,
               const Range& rows, const Range& columns) {
  const std::int64_t n = job.tiling.n, part = job.tiling.m * n, count = columns.size();
  const T* partial = reinterpret_cast<const T*>(run.shared_scratch + job.shared_begin);
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    T* c = reinterpret_cast<T*>(job.c_at(c_data, item, row, columns.begin));
    const T* values = partial + row * n + columns.begin;
    std::int64_t first = 0;
    if (!job.batch.accumulate) std::copy_n(values, count, c), first = 1;
    for (std::int64_t i = first; i < job.tiling.split_k; ++i) {
      for (std::int64_t j = 0; j < count; ++j) c[j] += values[i * part + j];
    }
  }
}

}  // namespace

// Each chunk adds a range of rows, or a range of columns if there are no more rows than columns.
void add_split_k_sum(Kernel& kernel, const JobRef& job, std::int64_t item) {
  const GemmTiling& tiling = job->tiling;
  const bool by_rows = tiling.m > tiling.n;
  const std::int64_t extent = by_rows ? tiling.m : tiling.n;
  const std::int64_t elements = tiling.m * tiling.n * tiling.split_k;
  Phase sum;
  sum.chunks = std::min(extent, chunk_count(elements, kCopiedElementsPerChunk));
  sum.cost_ns = static_cast<double>(elements) / kCopiedElementsPerNs;
  sum.body = [job, item, by_rows, extent, chunks = sum.chunks](const KernelRun& run,
                                                               std::int64_t chunk) {
    const auto [begin, end] = chunk_range(extent, chunks, chunk);
    const Range rows = by_rows ? Range{begin, end} : Range{0, job->tiling.m};
    const Range columns = by_rows ? Range{0, job->tiling.n} : Range{begin, end};
    void* const c = job->pointers(run).c;
    if (job->batch.c.dtype == DType::f64) {
      add_parts<double>(*job, run, c, item, rows, columns);
    } else {
      add_parts<float>(*job, run, c, item, rows, columns);
    }
    job->run_epilogue(run, item, rows, columns, c);
  };
  kernel.phases.push_back(std::move(sum));
}

}  // namespace weft::gemm_detail

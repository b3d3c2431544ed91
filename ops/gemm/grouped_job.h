// State and phases that the implementations of grouped products share; not for use elsewhere.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "weft/ops/gemm/detail.h"
#include "weft/ops/gemm/group_units.h"

namespace weft::gemm_detail {

// The approximate speed of one core in multiply-adds, used for Phase::cost_ns, and the minimum
// number of multiply-adds in a chunk, which is about 10 us of work.
inline constexpr double kGroupedAddsPerNs = 40, kGroupedAddsPerChunk = 5e5;
// The time per tile that does not depend on its rows (packing of the matrix, writing of C), in rows
// of the product.
inline constexpr std::int64_t kRowsOfOverhead = 16;

// State that is shared by all phases.
struct GroupedJob : GemmJob {
  GroupSizes sizes;
  std::int64_t rows = 0;         // of all groups, and of rows without a group
  std::int64_t strip = 0;        // columns that a tile packs together
  std::int64_t range_depth = 0;  // depth of the rows that a tile packs together

  std::int64_t groups() const { return batch.count; }
  // The maximum number of groups that are not empty.
  std::int64_t used_groups() const { return std::min(groups(), rows); }
  std::int64_t mean_rows() const { return divide_up(rows, groups()); }
  GroupRows in(const KernelRun& run) const {
    return {run.inputs[sizes.input], sizes.dtype, groups(), rows};
  }
  void fill_zeros(const GemmPointers& at, std::int64_t item, const Range& rows,
                  const Range& columns) const {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      std::memset(c_at(at.c, item, row, columns.begin), 0,
                  times(columns.size(), dtype_size(batch.c.dtype)));
    }
  }
};
using GroupedRef = std::shared_ptr<const GroupedJob>;

inline double multiply_adds(std::int64_t m, std::int64_t n, std::int64_t k) {
  return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

/// Returns a phase without a body, with at most `units` chunks.
inline Phase product_phase(double work, std::int64_t units) {
  Phase phase;
  phase.chunks = chunk_count(
      units,
      static_cast<std::int64_t>(kGroupedAddsPerChunk * static_cast<double>(units) / (work + 1)));
  phase.cost_ns = work / kGroupedAddsPerNs;
  return phase;
}

// Returns the number of bytes of one panel over `depth`. Each depth block is stored separately.
inline std::size_t bytes_over(std::size_t (*bytes)(std::int64_t), std::int64_t depth,
                              std::int64_t block) {
  const std::int64_t rest = depth % block;
  return times(depth / block, bytes(block)) + (rest > 0 ? bytes(rest) : 0);
}

/// Creates the state of a batch. `rows` is the number of rows of all groups. Throws DTypeError for
/// dtypes that cannot be multiplied.
std::shared_ptr<GroupedJob> make_grouped_job(
    GemmBatch batch, const GroupSizes& sizes, std::int64_t rows,
    std::function<GemmPointers(const KernelRun&)> pointers);
/// Chooses the engine of a product of m x k and k x n matrices.
void choose_grouped_engine(GroupedJob& job, std::int64_t m, std::int64_t n, std::int64_t k);
/// Appends the phase that fills a C with these rows with zeros.
void add_zeros(Kernel& kernel, const GroupedJob& job, std::int64_t rows);

}  // namespace weft::gemm_detail

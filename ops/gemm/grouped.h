// Products of groups of rows, each with its own matrix, as phases of a kernel.
#pragma once

#include <functional>

#include "weft/ops/gemm/batch.h"
#include "weft/ops/kernel.h"

namespace weft {

// All workers share the work of all groups. It is divided by the sizes of the groups, never by the
// number of threads, and the bits of an element do not depend on the division. The engine is the
// one of a product with the mean number of rows of a group. No scratch of the kernel may be
// reserved before.

/// Appends the phases that multiply the rows of group e by matrix e of B. The batch has the sizes
/// of all rows of A and C together (m rows, k, n columns), `count` is the number of groups, and the
/// offsets of A and C are 0. Rows of C after the last group are 0.
///
/// If there are at most eight rows per group on average, the matrices are read without packing.
/// Otherwise, they are packed before all runs if B is constant, or else once for every 512 rows of
/// a group (256 if all rows are in few groups). Scratch per worker: about 1.3 MB, or the panels of
/// 512 rows of A in one depth block if these are larger.
void add_grouped_gemm(Kernel& kernel, GemmBatch batch, const GroupSizes& sizes,
                      std::function<GemmPointers(const KernelRun&)> pointers);

/// Appends the phases that compute matrix e of C as the product A^T B of the rows of A and B in
/// group e. In the batch, k is the number of all rows, `count` is the number of groups,
/// a.row_stride is 1, and the offsets of A and B are 0. Empty groups give zeros. Shared scratch:
/// about 16 MB, or one depth block of A and B if this is larger.
void add_grouped_outer(Kernel& kernel, GemmBatch batch, const GroupSizes& sizes,
                       std::function<GemmPointers(const KernelRun&)> pointers);

}  // namespace weft

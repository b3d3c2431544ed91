// Kernels for reductions over arbitrary axes, which are computed in stages of row and column
// reductions.
#pragma once

#include <functional>
#include "weft/ops/kernel.h"
#include "weft/ops/kernels/reductions/reduce.h"

namespace weft {

/// Generates the elements to reduce, instead of reading them from input 0.
struct ElementSource {
  /// Writes elements [begin, begin + n) of the flattened input to `row`, with n <=
  /// kernels::kReduceBlock.
  std::function<void(const KernelRun& run, std::int64_t begin, std::int64_t n, void* row)> make;
  /// The number of bytes that `make` uses at the beginning of slot_scratch.
  std::size_t scratch = 0;
  double ns_per_element = 0;
};

/// Returns a kernel that reduces input 0 over `axes`, which must be sorted. Adjacent axes are
/// merged. Separate groups of reduced axes are reduced one after another through shared scratch,
/// starting with the innermost group, so that no transposition is needed. A long reduction with few
/// results is split depending on its shape only, and the partial results are combined in index
/// order. If `mean` is true, the sum is divided by the number of reduced elements. If `source` is
/// given, `axes` must be the last axes, and only the type of input 0 is used. The results have the
/// same bits as if the generated elements were in memory. Throws ShapeError for a maximum or
/// minimum over an axis of size 0.
Kernel make_reduce_kernel(const KernelRequest& request, kernels::Reduction kind,
                          const std::vector<std::int64_t>& axes, bool mean,
                          const ElementSource* source = nullptr);

}  // namespace weft

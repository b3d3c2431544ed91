// Kernels of reductions over arbitrary axes, as stages of row and column reductions.
#pragma once

#include <functional>
#include "weft/ops/kernel.h"
#include "weft/ops/kernels/reduce.h"

namespace weft {

/// Generates the elements to reduce, instead of reading them from input 0.
struct ElementSource {
  /// Writes elements [begin, begin + n) of the flattened input to `row`, with n <=
  /// kernels::kReduceBlock.
  std::function<void(const KernelRun& run, std::int64_t begin, std::int64_t n, void* row)> make;
  /// Number of bytes that `make` uses at the beginning of slot_scratch.
  std::size_t scratch = 0;
  double ns_per_element = 0;
};

/// Reduces input 0 over `axes` (sorted). Adjacent axes are merged; separate groups of reduced axes
/// are reduced one after the other, the innermost first, through shared scratch, so that nothing is
/// transposed. A long reduction with few results is split according to its shape, and the partial
/// results are combined in index order. With `mean`, a sum is divided by the number of reduced
/// elements. With a `source`, which requires that `axes` are the last ones, only the type of input
/// 0 is used; the results have the same bits as if its elements had been in memory. Throws
/// ShapeError for a maximum or minimum over an axis without elements.
Kernel make_reduce_kernel(const KernelRequest& request, kernels::Reduction kind,
                          const std::vector<std::int64_t>& axes, bool mean,
                          const ElementSource* source = nullptr);

}  // namespace weft

// Kernels of reductions over any axes, as stages of row and column reductions.
#pragma once

#include <functional>
#include "weft/ops/kernel.h"
#include "weft/ops/kernels/reduce.h"

namespace weft {

/// Makes the elements that are reduced, instead of reading them from input 0.
struct ElementSource {
  /// Writes elements [begin, begin + n) of the flattened input, n <= kernels::kReduceBlock, to
  /// `row`.
  std::function<void(const KernelRun& run, std::int64_t begin, std::int64_t n, void* row)> make;
  std::size_t scratch = 0;  // bytes of a worker that `make` uses, from the front of slot_scratch
  double ns_per_element = 0;
};

/// Reduces input 0 over `axes` (sorted). Adjacent axes are merged; separate groups of reduced axes
/// are reduced one after the other, the innermost first, through shared scratch, so that nothing is
/// transposed. A long reduction with few results is split by shape and combined in index order.
/// With `mean` a sum is divided by the number of reduced elements. With a `source` (and
/// trailing axes) input 0 is only a type, and bits are as if it had been there. Throws ShapeError
/// for an extreme over an axis without elements.
Kernel make_reduce_kernel(const KernelRequest& request, kernels::Reduction kind,
                          const std::vector<std::int64_t>& axes, bool mean,
                          const ElementSource* source = nullptr);

}  // namespace weft

// Kernels of reductions over any axes, as stages of row and column reductions.
#pragma once

#include "weft/ops/kernel.h"
#include "weft/ops/kernels/reduce.h"

namespace weft {

/// Reduces input 0 over `axes` (sorted). Adjacent axes are merged; separate groups of reduced axes
/// are reduced one after the other, the innermost first, through shared scratch, so that nothing is
/// transposed. A long reduction with few results is split by shape and combined in index order.
/// With `mean` a sum is divided by the number of reduced elements.
Kernel make_reduce_kernel(const KernelRequest& request, kernels::Reduction kind,
                          const std::vector<std::int64_t>& axes, bool mean);

}  // namespace weft

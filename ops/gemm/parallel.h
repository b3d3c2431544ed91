// Matrix products as phases of a kernel: how ops of all families multiply with all workers.
#pragma once

#include <cstddef>
#include <functional>

#include "weft/ops/gemm/batch.h"
#include "weft/ops/kernel.h"

namespace weft {

/// Appends the phases of matrix products to a kernel.
///
/// All products of one object share their scratch, since phases run one after the other. Reserve
/// scratch of your own (Kernel::shared_scratch, slot_scratch) before you make the object: it then
/// stays yours, also while products run and in epilogues.
///
/// A constant B is packed once (Kernel::packed), except by skinny products and for several
/// matrices B.
///
/// Shapes and the CPU's features alone decide how the work is cut, so the bits are the same for any
/// number of threads.
class ParallelGemm {
 public:
  explicit ParallelGemm(Kernel& kernel);

  /// Every chunk calls `pointers` once. `epilogue` may be null.
  void add(GemmBatch batch, std::function<GemmPointers(const KernelRun&)> pointers,
           TileEpilogue epilogue = nullptr);

 private:
  Kernel& kernel_;
  std::size_t shared_begin_;
  std::size_t slot_begin_;
};

}  // namespace weft

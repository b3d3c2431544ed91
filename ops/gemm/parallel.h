// Matrix products as phases of a kernel. All ops use this interface to multiply matrices on all
// workers.
#pragma once

#include <cstddef>
#include <functional>

#include "weft/ops/gemm/batch.h"
#include "weft/ops/kernel.h"

namespace weft {

/// Appends the phases of matrix products to a kernel.
///
/// All products added through one object share their scratch, because phases run one after another.
/// A kernel that needs scratch itself (Kernel::shared_scratch, slot_scratch) must reserve it before
/// creating this object. The products do not overwrite the scratch that was reserved before, so
/// epilogues can also use it.
///
/// A constant B is packed once (Kernel::packed), unless the product is skinny or there are several
/// matrices B.
///
/// The division of the work depends only on shapes and CPU features, so the results have the same
/// bits for any number of threads.
class ParallelGemm {
 public:
  explicit ParallelGemm(Kernel& kernel);

  /// Appends the phases of a batch. `pointers` is called once per chunk. `epilogue` may be null.
  void add(GemmBatch batch, std::function<GemmPointers(const KernelRun&)> pointers,
           TileEpilogue epilogue = nullptr);

 private:
  Kernel& kernel_;
  std::size_t shared_begin_;
  std::size_t slot_begin_;
};

}  // namespace weft

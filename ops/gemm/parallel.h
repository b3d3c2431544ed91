// Matrix products as phases of a kernel. All ops use it to multiply matrices with all workers.
#pragma once

#include <cstddef>
#include <functional>

#include "weft/ops/gemm/batch.h"
#include "weft/ops/kernel.h"

namespace weft {

/// Appends the phases of matrix products to a kernel.
///
/// All products of one object share their scratch, since phases run one after the other. A kernel
/// that needs scratch itself (Kernel::shared_scratch, slot_scratch) must reserve it before it
/// creates the object. The products then do not overwrite that scratch, which epilogues may also
/// use.
///
/// A constant B is packed once (Kernel::packed), except in skinny products and if there are several
/// matrices B.
///
/// The division of the work depends on shapes and CPU features only, so results have the same bits
/// for any number of threads.
class ParallelGemm {
 public:
  explicit ParallelGemm(Kernel& kernel);

  /// Appends the phases of a batch. Every chunk calls `pointers` once. `epilogue` may be null.
  void add(GemmBatch batch, std::function<GemmPointers(const KernelRun&)> pointers,
           TileEpilogue epilogue = nullptr);

 private:
  Kernel& kernel_;
  std::size_t shared_begin_;
  std::size_t slot_begin_;
};

}  // namespace weft

// Matrix products as phases of a kernel: how an op of any kind multiplies with all workers.
#pragma once

#include <cstddef>
#include <functional>

#include "weft/ops/gemm/batch.h"
#include "weft/ops/kernel.h"

namespace weft {

/// Appends products to the phases of `kernel`. One builder's products share their scratch, as
/// phases run one after the other. Reserve scratch of your own (Kernel::shared_scratch,
/// slot_scratch) before making the builder: what is there then stays yours, also while products run
/// and in `finish`.
///
/// A kept B is packed once (Kernel::packed), unless there are few rows or several matrices B.
///
/// How the work is cut follows from the shape and the CPU's features alone, so bits are the same
/// for any number of threads.
class ProductPhases {
 public:
  explicit ProductPhases(Kernel& kernel);

  /// `pointers` is asked once per chunk. `finish`, where given, is called once for every part of C
  /// after its last sum, on the worker that computed it, in any order; parts cover C.
  void add(ProductShape shape, std::function<ProductPointers(const KernelRun&)> pointers,
           std::function<void(const KernelRun&, const FinishedTile&)> finish = nullptr);

 private:
  Kernel& kernel_;
  std::size_t shared_begin_;
  std::size_t slot_begin_;
};

}  // namespace weft

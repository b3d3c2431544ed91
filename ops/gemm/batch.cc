#include "weft/ops/gemm/batch.h"

namespace weft {

BatchOffsets::BatchOffsets(const Sizes& sizes, const Sizes& batch) {
  std::int64_t stride = sizes[sizes.size() - 1] * sizes[sizes.size() - 2];
  for (std::size_t back = 0; back < batch.size(); ++back) {
    Axis axis{batch[batch.size() - 1 - back], 0};
    if (back + 2 < sizes.size()) {
      const std::int64_t own = sizes[sizes.size() - 3 - back];
      if (own != 1) axis.stride = stride;
      stride *= own;
    }
    if (axis.size == 1) continue;
    if (!axes_.empty() && axis.stride == axes_.back().stride * axes_.back().size) {
      axes_.back().size *= axis.size;
    } else {
      axes_.push_back(axis);
    }
  }
}

}  // namespace weft

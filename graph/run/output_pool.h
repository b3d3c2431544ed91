// Memory of output tensors, used again when the caller has dropped them.
#pragma once

#include <memory>
#include <vector>

#include "weft/core/tensor.h"

namespace weft {

class OutputPool {
 public:
  /// Memory of exactly `bytes` bytes that nobody else holds.
  std::shared_ptr<Buffer> take(std::size_t bytes);

 private:
  std::vector<std::shared_ptr<Buffer>> buffers_;  // in use or idle
};

}  // namespace weft

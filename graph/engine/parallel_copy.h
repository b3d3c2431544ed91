// Parallel memory copies.
#pragma once

#include <cstddef>

#include "weft/core/parallel.h"

namespace weft {

/// Copies `bytes` bytes; large copies use all workers. The ranges must not overlap, but may be
/// identical.
void parallel_copy(std::byte* to, const std::byte* from, std::size_t bytes, Workers& workers);

}  // namespace weft

// Copies of bytes, large ones by all workers.
#pragma once

#include <cstddef>

#include "weft/core/parallel.h"

namespace weft {

/// The ranges do not overlap, or are the same.
void parallel_copy(std::byte* to, const std::byte* from, std::size_t bytes, Workers& workers);

}  // namespace weft

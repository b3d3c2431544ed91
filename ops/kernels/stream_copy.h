// Copies that bypass the caches, for results that are too large to stay in them.
#pragma once

#include <cstddef>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace kernels {

/// Like memcpy, but uses non-temporal stores if the CPU supports them. Such stores neither read the
/// cache lines of the destination nor keep them in the caches. Call stream_fence() before another
/// thread reads the result.
void stream_copy(const void* from, void* to, std::size_t bytes);
/// Ensures that all streaming stores of this thread are ordered before its later stores.
void stream_fence();

}  // namespace kernels
}  // namespace weft

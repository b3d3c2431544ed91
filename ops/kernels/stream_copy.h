// Copies that bypass the caches, for results that are too large to stay in them.
#pragma once

#include <cstddef>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace kernels {

/// Like memcpy, but with stores that neither read the cache lines of the destination nor leave them
/// in the caches, if the CPU supports that. Call stream_fence() before another thread reads the
/// result.
void stream_copy(const void* from, void* to, std::size_t bytes);
/// Orders all streaming stores of this thread before its later stores.
void stream_fence();

}  // namespace kernels
}  // namespace weft

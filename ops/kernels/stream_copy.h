// Copying past the caches: for results so large that nobody will find them there.
#pragma once

#include <cstddef>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace kernels {

/// Like memcpy, but with stores that neither read the target's cache lines nor leave them in the
/// caches, where the CPU has them. Call stream_fence() before another thread may look.
void stream_copy(const void* from, void* to, std::size_t bytes);
/// Orders all streaming stores of this thread before its later stores.
void stream_fence();

}  // namespace kernels
}  // namespace weft

// Which SIMD targets the kernels are compiled for.
#pragma once

#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace kernels {

/// Bit mask (HWY_AVX2 | ...) of the targets that the kernel files generate code for. Only files
/// compiled with the kernels' flags know it.
std::int64_t compiled_simd_targets();

}  // namespace kernels
}  // namespace weft

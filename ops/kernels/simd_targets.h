// Which SIMD targets the kernels are compiled for.
#pragma once

#include <cstdint>
#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace kernels {

/// Bit mask (HWY_AVX2 | ...) of the targets that the kernel files generate code for. Only files
/// compiled with the kernels' flags know it.
std::int64_t compiled_simd_targets();

/// What decides about the bits of kernels on this CPU: the target that they run on and the unit for
/// 16-bit products, as "AVX3_ZEN4 with AVX512_BF16".
std::string cpu_kernels();

}  // namespace kernels
}  // namespace weft

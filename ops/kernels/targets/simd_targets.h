// Lists the SIMD targets of the kernels.
#pragma once

#include <cstdint>
#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace kernels {

/// Returns the bit mask (HWY_AVX2 | ...) of the SIMD targets for which the kernel files are
/// compiled. This mask is only available in files that are compiled with the same flags as the
/// kernels.
std::int64_t compiled_simd_targets();

/// Returns a description of the CPU features that determine the bits of results: the SIMD target of
/// the kernels and the matrix unit for 16-bit products, for example "AVX3_ZEN4 with AVX512_BF16".
std::string cpu_kernels();

}  // namespace kernels
}  // namespace weft

#include "weft/ops/kernels/simd_targets.h"

#include "hwy/highway.h"

namespace weft::kernels {

std::int64_t compiled_simd_targets() { return HWY_TARGETS; }

}  // namespace weft::kernels

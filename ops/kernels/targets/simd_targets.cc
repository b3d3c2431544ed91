#include "weft/ops/kernels/targets/simd_targets.h"

#include <bit>

#include "hwy/highway.h"
#include "weft/ops/kernels/gemm/bf16_split/choose.h"

namespace weft::kernels {

std::int64_t compiled_simd_targets() { return HWY_TARGETS; }

std::string cpu_kernels() {
  const std::uint64_t usable =
      static_cast<std::uint64_t>(hwy::SupportedTargets()) & static_cast<std::uint64_t>(HWY_TARGETS);
  // Better targets have lower bit positions.
  std::string name = hwy::TargetName(std::int64_t{1} << std::countr_zero(usable));
  if (bf16_cpu().amx) return name + " with AMX";
  if (bf16_cpu().fast_dot) return name + " with AVX512_BF16";
  return name;
}

}  // namespace weft::kernels

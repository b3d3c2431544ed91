#include "weft/testing/simd_targets.h"

#include <hwy/targets.h>

#include <bit>
#include <cstdint>

#include "weft/ops/kernels/targets/simd_targets.h"

namespace weft::testing {
namespace {

/// Restores dispatch to the CPU's default targets at the end of a scope.
struct RestoreTargets {
  ~RestoreTargets() { hwy::SetSupportedTargetsForTest(0); }
};

/// Returns the usable targets, best first. Better targets have lower bits.
std::vector<std::int64_t> usable_targets() {
  std::uint64_t mask = static_cast<std::uint64_t>(hwy::SupportedTargets()) &
                       static_cast<std::uint64_t>(kernels::compiled_simd_targets());
  std::vector<std::int64_t> targets;
  for (; mask != 0; mask &= mask - 1) {
    targets.push_back(std::int64_t{1} << std::countr_zero(mask));
  }
  return targets;
}

}  // namespace

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (const std::int64_t target : usable_targets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

void for_each_simd_target(const std::function<void(const char* target)>& body) {
  const std::vector<std::int64_t> targets = usable_targets();
  const RestoreTargets restore;
  for (const std::int64_t target : targets) {
    hwy::SetSupportedTargetsForTest(target);
    body(hwy::TargetName(target));
  }
}

}  // namespace weft::testing

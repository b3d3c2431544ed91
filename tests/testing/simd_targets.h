// Runs a test on every SIMD target of this machine.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace testing {

/// Returns the names of the targets for which kernels are compiled and which this CPU supports
/// ("AVX3", "AVX2", ...), best first.
std::vector<std::string> simd_targets();

/// Calls `body(name)` once for each such target, with dynamic dispatch fixed to it, and restores
/// the default afterwards, also if `body` throws. This affects the whole process, so no other
/// thread may run kernels meanwhile.
void for_each_simd_target(const std::function<void(const char* target)>& body);

}  // namespace testing
}  // namespace weft

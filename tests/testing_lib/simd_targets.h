// Runs a test for every SIMD target that this machine supports.
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

/// Calls `body(name)` once for each of these targets, with dynamic dispatch fixed to the target.
/// Restores the default afterwards, even if `body` throws. The setting affects the whole process,
/// so no other thread may run kernels at the same time.
void for_each_simd_target(const std::function<void(const char* target)>& body);

}  // namespace testing
}  // namespace weft

// Running a kernel test on every SIMD target of this machine.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace testing {

/// Names of the targets that the kernels are compiled for and this CPU supports ("AVX3", "AVX2",
/// ...), best first.
std::vector<std::string> simd_targets();

/// Calls `body(name)` once per such target while dispatch is fixed to it, and restores the default
/// afterwards, also when `body` throws. Changes the whole process: run no kernels on other threads.
void for_each_simd_target(const std::function<void(const char* target)>& body);

}  // namespace testing
}  // namespace weft

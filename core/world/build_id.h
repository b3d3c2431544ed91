// Which build of a program runs.
#pragma once

#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The build id that the linker gave the running program, and those of Weft's shared libraries that
/// it loaded, in hexadecimal; of a program that was linked without (--build-id) a checksum of its
/// file. Equal where the same instructions run.
const std::string& build_id();

}  // namespace weft

// Identifies the build of the running program.
#pragma once

#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns the linker's build ids (--build-id) of the running program and of the shared libraries
/// of Weft that it has loaded, in hexadecimal. For a program that was linked without a build id, a
/// checksum of its file is used instead. Equal ids mean that the same instructions run.
const std::string& build_id();

}  // namespace weft

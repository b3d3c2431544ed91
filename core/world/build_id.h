// The build id of the running program.
#pragma once

#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns the linker's build ids (--build-id) of the running program and of the loaded Weft
/// libraries, in hexadecimal. If the program was linked without a build id, a checksum of its
/// executable file is used instead. Programs with equal ids run the same machine code.
const std::string& build_id();

}  // namespace weft

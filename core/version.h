// The version of the Weft headers (macros) and of the linked Weft library (functions).
#pragma once

#include <string_view>

#include "weft/core/export.h"

// CMakeLists.txt reads the first three macros. WEFT_VERSION is for preprocessor checks: version
// 0.2.0 is 200, so test for it with `#if WEFT_VERSION >= 200`.
#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 2
#define WEFT_VERSION_PATCH 0
#define WEFT_VERSION (WEFT_VERSION_MAJOR * 10000 + WEFT_VERSION_MINOR * 100 + WEFT_VERSION_PATCH)

namespace WEFT_API weft {

/// Returns the version of the library, for example "0.2.0".
std::string_view version();
/// Returns the version of the library, encoded like WEFT_VERSION. The result differs from that
/// macro if the program was compiled against the headers of a different version of the shared
/// library.
int version_number();

}  // namespace weft

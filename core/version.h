// The version of Weft, both of the headers (macros) and of the linked library (functions).
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
/// Returns the version of the library in the encoding of WEFT_VERSION. It differs from that macro
/// if the program was compiled against the headers of another version than the shared library it
/// loads.
int version_number();

}  // namespace weft

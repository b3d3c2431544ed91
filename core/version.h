// Weft's version: of the headers a program is compiled with, and of the library it runs with.
#pragma once

#include <string_view>

#include "weft/core/export.h"

// CMakeLists.txt reads these three; a program asks #if WEFT_VERSION >= 200 for 0.2.0.
#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 2
#define WEFT_VERSION_PATCH 0
#define WEFT_VERSION (WEFT_VERSION_MAJOR * 10000 + WEFT_VERSION_MINOR * 100 + WEFT_VERSION_PATCH)

namespace WEFT_API weft {

/// The library's version as "0.2.0".
std::string_view version();
/// The library's version as the macro WEFT_VERSION gives that of the headers. A program that is
/// linked with a shared library of another version sees two numbers.
int version_number();

}  // namespace weft

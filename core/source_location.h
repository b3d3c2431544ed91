// Locations in the user's source code.
#pragma once

#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A line of source code. Replaces std::source_location, which clang 14 does not provide. Functions
/// declare it as their last parameter, `SourceLocation loc = SourceLocation::current()`, so that it
/// refers to the caller. Graphs store their own copy of the file name.
struct SourceLocation {
  const char* file = "";
  int line = 0;

  /// Returns the location of the call if used as a default argument.
  static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                          int line = __builtin_LINE()) {
    return {file, line};
  }
  /// Returns "file:line", or "" if the location is unknown.
  std::string str() const;
  bool known() const { return line > 0; }
};

}  // namespace weft

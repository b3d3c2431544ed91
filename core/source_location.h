// Where in the user's program something was built.
#pragma once

#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A line of source code. clang 14 has no std::source_location, hence our own. Functions take it as
/// a last parameter `SourceLocation loc = SourceLocation::current()`, so that it names the caller.
/// A graph keeps its own copy of the file's name.
struct SourceLocation {
  const char* file = "";
  int line = 0;

  /// As a default argument: the line of the call.
  static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                          int line = __builtin_LINE()) {
    return {file, line};
  }
  /// "file:line", or "" if unknown.
  std::string str() const;
  bool known() const { return line > 0; }
};

}  // namespace weft

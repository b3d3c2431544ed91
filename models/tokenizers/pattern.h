// What components look for in texts: a string or a regular expression.
#pragma once

#include <string>

#include "weft/models/tokenizers/unicode/regex.h"

namespace weft {

/// {"String": "..."} or {"Regex": "..."} in files.
struct Pattern {
  std::string text;
  bool is_regex = false;

  /// The regular expression that finds it.
  std::string regex() const { return is_regex ? text : quoted_for_regex(text); }
};

}  // namespace weft

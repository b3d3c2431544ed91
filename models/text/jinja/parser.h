// Parses the tokens of a template into a syntax tree. The parser rejects unsupported constructs
// with an error that contains their name and location.
#pragma once

#include <string_view>

#include "weft/models/text/jinja/ast.h"

namespace weft::chat {

struct ParsedTemplate {
  Body body;
  /// True if the template contains {% generation %}.
  bool marks_generation = false;
};

/// Throws a FormatError that names the syntax error or the unsupported construct, with its line and
/// column.
ParsedTemplate parse_template(std::string_view source);

}  // namespace weft::chat

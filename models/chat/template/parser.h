// Parses the tokens of a template into a tree. Unsupported constructs are rejected here, with name
// and place.
#pragma once

#include <string_view>

#include "weft/models/chat/template/ast.h"

namespace weft::chat {

struct ParsedTemplate {
  Body body;
  /// True if the template has {% generation %}.
  bool marks_generation = false;
};

/// Throws FormatError that names the syntax error or the unsupported construct, with line and
/// column.
ParsedTemplate parse_template(std::string_view source);

}  // namespace weft::chat

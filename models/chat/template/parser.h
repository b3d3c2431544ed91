// Tokens as a tree. What chat templates may not use is refused here, by its name and place.
#pragma once

#include <string_view>

#include "weft/models/chat/template/ast.h"

namespace weft::chat {

struct ParsedTemplate {
  Body body;
  bool marks_generation = false;  // it has {% generation %}
};

/// Throws FormatError that says what is wrong or not supported, and where.
ParsedTemplate parse_template(std::string_view source);

}  // namespace weft::chat

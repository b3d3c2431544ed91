// Evaluates a parsed template.
#pragma once

#include "weft/models/text/jinja/parser.h"
#include "weft/models/text/jinja/run.h"

namespace weft::chat {

/// Renders `parsed` with `variables` and returns the text. Throws DataError if the template raises
/// an exception, applies an operation to values that do not support it, or exceeds its limits.
TracedText interpret(const ParsedTemplate& parsed, const Mapping& variables, Run& run);

}  // namespace weft::chat

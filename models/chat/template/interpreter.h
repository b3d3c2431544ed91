// Runs a parsed template.
#pragma once

#include "weft/models/chat/template/parser.h"
#include "weft/models/chat/template/run.h"

namespace weft::chat {

/// The text that `parsed` makes of `variables`. Throws DataError where the template raises an
/// exception, does what values do not allow, or takes more than its limits.
TracedText interpret(const ParsedTemplate& parsed, const Mapping& variables, Run& run);

}  // namespace weft::chat

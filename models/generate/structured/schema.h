// JSON schemas. Internal.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/models/generate/structured/constraint.h"
#include "weft/models/generate/structured/grammar.h"

namespace weft::structured {

/// Returns the grammar of the JSON texts that conform to a schema, which is a JSON text. Throws the
/// exceptions of Constraint::json_schema().
Grammar schema_grammar(std::string_view schema, const ConstraintLimits& limits);

}  // namespace weft::structured

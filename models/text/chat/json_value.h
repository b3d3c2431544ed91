// Conversion of JSON to template values. Internal: keeps the JSON parser out of public headers.
#pragma once

#include <nlohmann/json.hpp>

#include "weft/models/text/jinja/message_origin.h"
#include "weft/models/text/jinja/value.h"

namespace WEFT_API weft {

/// Returns a JSON value as a template value. Keys keep their order. All strings and keys have the
/// origin `origin`. Integers beyond 64 bits become floating-point numbers.
chat::Value template_value(const nlohmann::ordered_json& json, const Origin& origin);

}  // namespace weft

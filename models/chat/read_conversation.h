// Reads conversations from parsed JSON. Internal: keeps the JSON parser out of public headers.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "weft/models/chat/conversation.h"

namespace weft {

/// Reads a list of messages, or an object with one, as read_conversation() does. `where` is the
/// location in the file, for error messages. Throws FormatError.
Conversation conversation_from_json(const nlohmann::json& json, std::string_view where);

}  // namespace weft

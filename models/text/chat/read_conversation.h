// Reads conversations from parsed JSON. Internal: this header keeps the JSON parser out of public
// headers.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "weft/models/text/chat/conversation.h"

namespace weft {

/// Reads a list of messages, or an object that contains such a list, in the same format as
/// read_conversation(). `where` is the location in the file, for error messages. Throws FormatError
/// if the list is invalid.
Conversation conversation_from_json(const nlohmann::ordered_json& json, std::string_view where);

}  // namespace weft

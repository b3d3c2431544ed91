// Conversations within JSON that has been read. Internal: the parser stays out of public headers.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "weft/models/chat/conversation.h"

namespace weft {

/// A list of messages, or an object with one, as read_conversation() of a text. `where` is its
/// place in its file, for messages. Throws FormatError.
Conversation conversation_from_json(const nlohmann::json& json, std::string_view where);

}  // namespace weft

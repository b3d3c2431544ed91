// What was said, turn by turn.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

struct Message {
  std::string role;  // "system", "user", "assistant", or what the chat format knows
  std::string content;
  /// What some formats read besides ("name", "reasoning_content"), in the order in which it came.
  std::vector<std::pair<std::string, std::string>> more = {};

  friend bool operator==(const Message&, const Message&) = default;
};

/// UTF-8 in all its texts.
using Conversation = std::vector<Message>;

/// Reads [{"role": "user", "content": "..."}, ...], or an object that has such a list as
/// "messages" (what else it has is not looked at). `what` names the text in messages. Throws
/// FormatError for what is no JSON, and for a message that lacks role or content, or has a field
/// that is no text (null is taken as missing): calls of tools and parts of messages are not
/// supported.
Conversation read_conversation(std::string_view json, std::string_view what);

}  // namespace weft

// Conversations: lists of messages with roles.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

struct Message {
  /// "system", "user", "assistant", or any other role that the chat format supports.
  std::string role;
  std::string content;
  /// Additional fields that some formats read ("name", "reasoning_content"), in their order in the
  /// input.
  std::vector<std::pair<std::string, std::string>> more = {};
  /// Additional fields with other JSON values, as JSON text: {"tool_calls", "[{...}]"}. The field
  /// "content" replaces `content` in the format, for example by a list of parts.
  std::vector<std::pair<std::string, std::string>> json = {};

  friend bool operator==(const Message&, const Message&) = default;
};

/// A list of messages in chronological order. All strings are UTF-8.
using Conversation = std::vector<Message>;

/// Parses [{"role": "user", "content": "..."}, ...], or an object that contains such a list under
/// "messages"; the other keys of the object are ignored. The content of a message is a string, a
/// list of parts such as {"type": "text", "text": "..."} or, if the message has "tool_calls", null
/// or missing. Other fields may have any JSON value; null counts as missing. `what` names the input
/// in error messages. Throws FormatError if the input is not valid JSON, or if a message has no
/// role or no content.
Conversation read_conversation(std::string_view json, std::string_view what);

}  // namespace weft

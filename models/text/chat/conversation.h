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

  friend bool operator==(const Message&, const Message&) = default;
};

/// A list of messages in chronological order. All strings are UTF-8.
using Conversation = std::vector<Message>;

/// Parses [{"role": "user", "content": "..."}, ...], or an object that contains such a list under
/// "messages"; the other keys of the object are ignored. `what` names the input in error messages.
/// Throws FormatError if the input is not valid JSON, if a message has no role or no content, or if
/// a field of a message is not a string (null counts as missing). Tool calls and content lists are
/// not supported.
Conversation read_conversation(std::string_view json, std::string_view what);

}  // namespace weft

// Conversations: lists of messages with roles.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

struct Message {
  /// "system", "user", "assistant", or another role that the chat format supports.
  std::string role;
  std::string content;
  /// Additional fields that some formats read ("name", "reasoning_content"), in input order.
  std::vector<std::pair<std::string, std::string>> more = {};

  friend bool operator==(const Message&, const Message&) = default;
};

/// The messages in order. All strings are UTF-8.
using Conversation = std::vector<Message>;

/// Reads [{"role": "user", "content": "..."}, ...], or an object with such a list under "messages"
/// (its other keys are ignored). `what` names the text in error messages. Throws FormatError if the
/// text is not JSON, or if a message lacks a role or content or has a field that is not a string
/// (null counts as missing). Tool calls and content lists are not supported.
Conversation read_conversation(std::string_view json, std::string_view what);

}  // namespace weft

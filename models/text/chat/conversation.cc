#include "weft/models/text/chat/conversation.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/text/chat/read_conversation.h"
#include "weft/serialization/files/strict_json.h"

namespace weft {
namespace {

using nlohmann::json;

Message read_message(const json& object, const std::string& where) {
  if (!object.is_object()) {
    throw FormatError(fmt::format("{} must be an object with 'role' and 'content', not {}", where,
                                  json_excerpt(object)));
  }
  Message message;
  for (const char* key : {"role", "content"}) {
    if (!object.contains(key)) throw FormatError(fmt::format("{} lacks '{}'", where, key));
  }
  for (const auto& [key, value] : object.items()) {
    const bool required = key == "role" || key == "content";
    if (value.is_null() && !required) continue;
    if (!value.is_string()) {
      throw FormatError(fmt::format("{}.{} must be a string, not {}{}", where, excerpt(key),
                                    json_excerpt(value),
                                    value.is_structured() ? ", which is not supported" : ""));
    }
    std::string text = value.get<std::string>();
    if (key == "role") {
      message.role = std::move(text);
    } else if (key == "content") {
      message.content = std::move(text);
    } else {
      message.more.emplace_back(key, std::move(text));
    }
  }
  return message;
}

}  // namespace

Conversation conversation_from_json(const json& json, std::string_view where) {
  const bool wrapped = json.is_object();
  if (wrapped && !json.contains("messages"))
    throw FormatError(fmt::format("{} lacks 'messages'", where));
  const nlohmann::json& list = wrapped ? json["messages"] : json;
  const std::string place = fmt::format("{}{}", where, wrapped ? ".messages" : "");
  if (!list.is_array())
    throw FormatError(
        fmt::format("{} must be a list of messages, not {}", place, json_excerpt(list)));
  if (list.empty()) throw FormatError(fmt::format("{} has no messages", place));
  Conversation conversation;
  for (const auto& message : list) {
    conversation.push_back(
        read_message(message, fmt::format("{}[{}]", place, conversation.size())));
  }
  return conversation;
}

Conversation read_conversation(std::string_view json, std::string_view what) {
  return conversation_from_json(parse_json(json, what), what);
}

}  // namespace weft

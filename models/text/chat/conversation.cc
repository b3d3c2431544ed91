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

using Json = nlohmann::ordered_json;  // templates print objects with their keys in order

/// Returns the texts of the parts of a message.
std::string text_of_parts(const Json& parts) {
  std::string all;
  for (const Json& part : parts) {
    if (!part.is_object()) continue;
    const auto text = part.find("text");
    if (text != part.end() && text->is_string()) all += text->get<std::string>();
  }
  return all;
}

Message read_message(const Json& object, const std::string& where) {
  if (!object.is_object()) {
    throw FormatError(fmt::format("{} must be an object with 'role' and 'content', not {}", where,
                                  json_excerpt(nlohmann::json(object))));
  }
  Message message;
  const auto calls = object.find("tool_calls");
  const bool has_calls = calls != object.end() && !calls->is_null();
  for (const char* key : {"role", "content"}) {
    if (!object.contains(key) && !(has_calls && std::string_view(key) == "content"))
      throw FormatError(fmt::format("{} lacks '{}'", where, key));
  }
  for (const auto& [key, value] : object.items()) {
    if (key == "role" ||
        (key == "content" && !value.is_array() && !(value.is_null() && has_calls))) {
      if (!value.is_string()) {
        throw FormatError(fmt::format("{}.{} must be a string, not {}", where, key,
                                      json_excerpt(nlohmann::json(value))));
      }
      (key == "role" ? message.role : message.content) = value.get<std::string>();
    } else if (key == "content") {
      message.content = text_of_parts(value);
      message.json.emplace_back(key, value.dump());
    } else if (value.is_string()) {
      message.more.emplace_back(key, value.get<std::string>());
    } else if (!value.is_null()) {
      message.json.emplace_back(key, value.dump());
    }
  }
  if (!object.contains("content")) message.json.emplace_back("content", "null");
  return message;
}

}  // namespace

Conversation conversation_from_json(const Json& json, std::string_view where) {
  const bool wrapped = json.is_object();
  if (wrapped && !json.contains("messages"))
    throw FormatError(fmt::format("{} lacks 'messages'", where));
  const Json& list = wrapped ? json["messages"] : json;
  const std::string place = fmt::format("{}{}", where, wrapped ? ".messages" : "");
  if (!list.is_array())
    throw FormatError(fmt::format("{} must be a list of messages, not {}", place,
                                  json_excerpt(nlohmann::json(list))));
  if (list.empty()) throw FormatError(fmt::format("{} has no messages", place));
  Conversation conversation;
  for (const auto& message : list) {
    conversation.push_back(
        read_message(message, fmt::format("{}[{}]", place, conversation.size())));
  }
  return conversation;
}

Conversation read_conversation(std::string_view json, std::string_view what) {
  return conversation_from_json(in_order(parse_json(json, what), json, what), what);
}

}  // namespace weft

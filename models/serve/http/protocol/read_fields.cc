#include "weft/models/serve/http/protocol/read_fields.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "weft/core/excerpt.h"
#include "weft/models/serve/http/protocol/api_error.h"

namespace weft {
namespace {

/// Returns the content of a message as one text: parts are separated by line breaks.
Json joined_parts(const Json& content, const std::string& place) {
  std::string text;
  for (std::size_t i = 0; i < content.size(); ++i) {
    Fields part(content[i], fmt::format("{}[{}].", place, i));
    const std::string type = part.text("type").value_or("text");
    if (type != "text" && type != "refusal") {
      throw ApiError(400,
                     fmt::format("'{}' has the type {}, but only text is supported",
                                 fmt::format("{}[{}]", place, i), excerpt(type)),
                     "unsupported_value", place);
    }
    if (i > 0) text += '\n';
    part.require(type);
    text += *part.text(type);
  }
  return text;
}

/// Converts a message to the form that templates expect: the content is one text, the arguments of
/// tool calls are objects, and developers are the system.
Json template_message(const Json& message, const std::string& place) {
  Fields fields(message, place + ".");
  fields.require("role");
  Json out = message;
  if (fields.text("role") == "developer") out["role"] = "system";
  const Json* content = fields.find("content");
  if (content != nullptr && content->is_array()) {
    out["content"] = joined_parts(*content, place + ".content");
  } else if (content == nullptr && fields.find("tool_calls") == nullptr) {
    fields.require("content");
  }
  if (!out.contains("tool_calls") || !out["tool_calls"].is_array()) return out;
  for (Json& call : out["tool_calls"]) {
    if (!call.is_object() || !call.contains("function") || !call["function"].is_object()) continue;
    Json& arguments = call["function"]["arguments"];
    if (!arguments.is_string()) continue;
    try {
      Json parsed = json_body(arguments.get<std::string>());
      arguments = std::move(parsed);
    } catch (const ApiError&) {  // the model wrote arguments that are not valid JSON
    }
  }
  return out;
}

}  // namespace

Conversation read_messages(Fields& fields) {
  const Json& messages = fields.require("messages");
  if (!messages.is_array() || messages.empty())
    fields.fail("messages", "a list of at least one message");
  Json list = Json::array();
  for (std::size_t i = 0; i < messages.size(); ++i)
    list.push_back(template_message(messages[i], fmt::format("messages[{}]", i)));
  return read_conversation(json_text(list), "messages");
}

TokenIds read_ids(const Fields& fields, const std::string& name, const Json& list,
                  const std::string& wanted) {
  if (!list.is_array()) fields.fail(name, wanted);
  TokenIds ids;
  for (const Json& id : list) {
    if (!id.is_number_integer() || id < 0 || id > std::numeric_limits<std::int32_t>::max())
      fields.fail(name, wanted);
    ids.push_back(id.get<std::int64_t>());
  }
  return ids;
}

std::vector<std::variant<std::string, TokenIds>> read_texts_or_ids(Fields& fields,
                                                                   const std::string& name,
                                                                   std::int64_t most) {
  const Json& input = fields.require(name);
  const std::string wanted =
      "a string, a list of strings, a list of token ids, or a list of lists of token ids";
  if (input.is_string()) return {input.get<std::string>()};
  if (!input.is_array() || input.empty()) fields.fail(name, wanted);
  if (input.front().is_number()) return {read_ids(fields, name, input, wanted)};
  if (std::ssize(input) > most) {
    throw ApiError(400,
                   fmt::format("'{}' has {} texts, but at most {} are possible per request", name,
                               input.size(), most),
                   "invalid_value", name);
  }
  std::vector<std::variant<std::string, TokenIds>> texts;
  for (const Json& one : input) {
    if (one.is_string()) {
      texts.emplace_back(one.get<std::string>());
    } else {
      texts.emplace_back(read_ids(fields, name, one, wanted));
    }
  }
  return texts;
}

}  // namespace weft

#include "weft/models/text/chat/chat_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/text/chat/json_value.h"
#include "weft/models/text/jinja/template.h"
#include "weft/models/text/tokenizers/base/special_ids.h"
#include "weft/models/text/unicode/repair.h"
#include "weft/serialization/files/strict_json.h"

namespace weft {
namespace {

using chat::Mapping;
using chat::Value;

/// Returns the text of a message field as a template value. Throws FormatError if the text is not
/// valid UTF-8.
Value message_text(const std::string& text, std::string_view field, Origin origin) {
  if (const std::size_t broken = find_invalid_utf8(text); broken < text.size()) {
    throw FormatError(fmt::format("messages[{}].{} is not valid UTF-8 at byte {}", origin.message,
                                  field, broken));
  }
  return chat::text_value(text, origin);
}

Value json_text_value(const std::string& text, const std::string& what, const Origin& origin) {
  // Values in templates are nested at most 50 deep, including the messages.
  return template_value(in_order(parse_json(text, what, {.max_depth = 40}), text, what), origin);
}

Value message_value(const Message& message, std::int32_t number) {
  Mapping fields;
  const auto add = [&](const std::string& name, const std::string& text, Writer writer) {
    fields.set(std::make_shared<const chat::TracedText>(name, Origin{writer, number}),
               message_text(text, name, {writer, number}));
  };
  add("role", message.role, Writer::header);
  add("content", message.content, Writer::contents);
  for (const auto& [name, text] : message.more)
    add(name, text, name == "name" ? Writer::header : Writer::contents);
  const Origin contents{Writer::contents, number};
  for (const auto& [name, text] : message.json) {
    Value value = json_text_value(text, fmt::format("messages[{}].{}", number, name), contents);
    fields.depth = std::max(fields.depth, chat::depth_of(value) + 1);
    fields.set(std::make_shared<const chat::TracedText>(name, contents), std::move(value));
  }
  return std::make_shared<const Mapping>(std::move(fields));
}

Value setting_value(const std::string& name, const ChatVariable& variable) {
  return std::visit(
      [&](const auto& value) -> Value {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
          if (find_invalid_utf8(value) < value.size())
            throw FormatError(fmt::format("the variable '{}' is not valid UTF-8", name));
          return chat::text_value(value, {Writer::setting});
        } else if constexpr (std::is_same_v<std::decay_t<decltype(value)>, JsonText>) {
          return json_text_value(value.text, fmt::format("the variable '{}'", name),
                                 {Writer::setting});
        } else {
          return value;
        }
      },
      variable);
}

void set(Mapping& variables, const std::string& name, Value value) {
  variables.set(std::make_shared<const chat::TracedText>(name), std::move(value));
}

std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  localtime_r(&now, &parts);
  return parts;
}

}  // namespace

struct ChatFormat::State {
  std::string source;
  SpecialTexts specials;
  chat::Template parsed;
};

ChatFormat::ChatFormat(std::shared_ptr<const State> state) : state_(std::move(state)) {}

ChatFormat ChatFormat::from_template(std::string_view source, SpecialTexts specials) {
  for (const auto& [name, text] : specials) {
    if (find_invalid_utf8(text) < text.size())
      throw FormatError(fmt::format("the special token '{}' is not valid UTF-8", name));
  }
  return ChatFormat(std::make_shared<const State>(
      State{std::string(source), std::move(specials), chat::Template::parse(source)}));
}

const std::string& ChatFormat::source() const { return state_->source; }
const SpecialTexts& ChatFormat::specials() const { return state_->specials; }

RenderedChat ChatFormat::render(const Conversation& conversation,
                                const ChatOptions& options) const {
  if (conversation.size() > std::numeric_limits<std::int32_t>::max())
    throw ArgumentError("the conversation has too many messages");
  std::vector<Value> messages;
  int depth = 2;
  for (const Message& message : conversation) {
    messages.push_back(message_value(message, static_cast<std::int32_t>(messages.size())));
    depth = std::max(depth, chat::depth_of(messages.back()) + 1);
  }
  Mapping variables;
  for (const auto& [name, text] : state_->specials) set(variables, name, chat::text_value(text));
  set(variables, "messages",
      std::make_shared<const chat::Sequence>(
          chat::Sequence{chat::Sequence::Kind::list, std::move(messages), depth}));
  set(variables, "tools", chat::None());
  set(variables, "documents", chat::None());
  set(variables, "add_generation_prompt", options.add_generation_prompt);
  for (const auto& [name, variable] : options.variables)
    set(variables, name, setting_value(name, variable));
  const chat::TracedText text =
      state_->parsed.render(variables, options.limits, options.now ? *options.now : local_time());
  return {text.text(), text.runs(), state_->parsed.marks_generation()};
}

std::string ChatFormat::to_json() const {
  const nlohmann::json json = {{"template", source()}, {"specials", specials()}};
  return json.dump();
}

ChatFormat ChatFormat::from_json(std::string_view text) {
  constexpr std::string_view kWhat = "the chat format";
  const nlohmann::json json = parse_json_object(text, kWhat);
  SpecialTexts specials;
  std::string source;
  for (const auto& [key, value] : json.items()) {
    if (key == "template" && value.is_string()) {
      source = value.get<std::string>();
      continue;
    }
    const bool known = key == "specials" && value.is_object();
    if (!known) throw FormatError(fmt::format("{} has an unknown field '{}'", kWhat, excerpt(key)));
    for (const auto& [name, special] : value.items()) {
      if (!special.is_string())
        throw FormatError(fmt::format("{}: '{}' must be a string", kWhat, excerpt(name)));
      specials.emplace(name, special.get<std::string>());
    }
  }
  if (json.size() != 2) throw FormatError(fmt::format("{} lacks 'template' or 'specials'", kWhat));
  return from_template(source, std::move(specials));
}

std::map<std::string, ChatVariable> chat_variables(std::string_view json) {
  constexpr std::string_view kWhat = "the template variables";
  std::map<std::string, ChatVariable> variables;
  const auto object = in_order(parse_json_object(json, kWhat), json, kWhat);
  for (const auto& [name, value] : object.items()) variables.emplace(name, JsonText{value.dump()});
  return variables;
}

SpecialTexts special_texts(const Tokenizer& tokenizer) {
  SpecialTexts texts;
  for (const SpecialIdName& special : kSpecialIds) {
    const std::int32_t id = tokenizer.special().*special.id;
    if (id >= 0) texts.emplace(fmt::format("{}_token", special.name), tokenizer.piece(id));
  }
  return texts;
}

}  // namespace weft

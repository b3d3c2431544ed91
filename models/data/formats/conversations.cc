#include "weft/models/data/formats/conversations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "weft/core/error.h"
#include "weft/models/data/batching/shuffle.h"
#include "weft/models/text/chat/read_conversation.h"
#include "weft/models/text/corpus/text_buffer.h"
#include "weft/serialization/files/strict_json.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr const char* kAnswers = "assistant";

bool is_answer(const Message& message) { return message.role == kAnswers; }

/// Returns the text of a field, or "" if an optional field is missing.
std::string field(const json& object, const char* name, bool required, const std::string& where) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) {
    if (required) throw FormatError(fmt::format("{}: the object lacks '{}'", where, name));
    return {};
  }
  if (!found->is_string()) {
    throw FormatError(
        fmt::format("{}: '{}' must be a string, not {}", where, name, json_excerpt(*found)));
  }
  return found->get<std::string>();
}

Conversation instruction(const json& object, const std::string& where, InstructionInput input) {
  Conversation turns;
  if (std::string system = field(object, "system", false, where); !system.empty())
    turns.push_back({"system", std::move(system)});
  turns.push_back({"user", field(object, "instruction", true, where)});
  if (std::string more = field(object, "input", false, where); !more.empty()) {
    if (input == InstructionInput::message) {
      turns.push_back({"input", std::move(more)});
    } else {
      turns.back().content += "\n\n" + more;
    }
  }
  turns.push_back({kAnswers, field(object, "output", true, where)});
  return turns;
}

Conversation read_line(std::string_view line, const std::string& where, InstructionInput input) {
  const json object = parse_json_object(line, where);
  const bool messages = object.contains("messages"), task = object.contains("instruction");
  if (messages == task) {
    throw FormatError(fmt::format(
        "{}: the object has {}", where,
        messages ? "both 'messages' and 'instruction'"
                 : "neither 'messages' nor 'instruction' (with 'output' and optionally 'input')"));
  }
  Conversation turns = messages ? conversation_from_json(in_order(object, line, where), where)
                                : instruction(object, where, input);
  const auto answer = std::find_if(turns.begin(), turns.end(), is_answer);
  if (answer == turns.end())
    throw FormatError(
        fmt::format("{}: there is no answer (a message with the role '{}')", where, kAnswers));
  if (answer == turns.begin())
    throw FormatError(fmt::format("{}: no message precedes the first answer", where));
  return turns;
}

/// Returns an unambiguous encoding of all messages before the first answer.
std::string beginning(const Conversation& turns) {
  std::string text;
  for (const Message& message : turns) {
    if (is_answer(message)) break;
    text += fmt::format("{}:{}{}:{}", message.role.size(), message.role, message.content.size(),
                        message.content);
  }
  return text;
}

}  // namespace

std::vector<Conversation> read_conversations(std::span<const std::string> paths,
                                             InstructionInput input) {
  constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20;
  std::vector<Conversation> all;
  for (const std::string& path : paths) {
    const std::size_t before = all.size();
    TextBuffer buffer(path);
    while (const auto line = buffer.json_line(kMaxLineBytes)) {
      buffer.check_utf8(line->size());
      all.push_back(read_line(*line, fmt::format("{}, line {}", path, buffer.line()), input));
      buffer.consume(std::min(line->size() + 1, buffer.text().size()));
    }
    if (all.size() == before) throw FormatError(path + ": there is no conversation");
  }
  return all;
}

ConversationSplit hold_out(const std::vector<Conversation>& all, double fraction,
                           std::uint64_t seed) {
  std::map<std::string, std::size_t> known;
  std::vector<std::size_t> groups;
  for (const Conversation& turns : all)
    groups.push_back(known.emplace(beginning(turns), known.size()).first->second);
  const std::vector<bool> held_out = held_out_examples(std::ssize(known), fraction, seed);
  if (fraction > 0 && known.size() < 2) {
    throw DataError(fmt::format(
        "none of {} conversations can be held out: they have the same beginning", all.size()));
  }
  ConversationSplit split;
  for (std::size_t i = 0; i < all.size(); ++i)
    (held_out[groups[i]] ? split.held_out : split.train).push_back(all[i]);
  return split;
}

}  // namespace weft

#include "weft/models/serve/http/protocol/tool_calls.h"

#include <algorithm>

#include "weft/models/serve/http/protocol/json_fields.h"

namespace weft {
namespace {

constexpr std::string_view kOpen = "<tool_call>", kClose = "</tool_call>",
                           kMistral = "[TOOL_CALLS]", kPython = "<|python_tag|>",
                           kBlanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// Appends the call in an object to `calls`. Returns false if it is not a call.
bool read_call(const Json& json, std::vector<ToolCall>& calls) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string()) return false;
  for (const char* key : {"arguments", "parameters"}) {
    const auto found = json.find(key);
    if (found == json.end() || !(found->is_object() || found->is_string())) continue;
    calls.push_back({json["name"].get<std::string>(),
                     found->is_string() ? found->get<std::string>() : json_text(*found)});
    return true;
  }
  return false;
}

/// Returns the calls in a text that is a call or a list of calls; empty if it is anything else.
std::vector<ToolCall> read_calls(std::string_view text) {
  text = trimmed(text);
  for (const std::string_view mark : {kMistral, kPython})
    if (text.starts_with(mark)) text = trimmed(text.substr(mark.size()));
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  if (text.empty() || text.size() > kMostBytes) return {};
  const auto within = [](int depth, Json::parse_event_t, Json&) { return depth < 64; };
  const Json json = Json::parse(text, within, false);
  std::vector<ToolCall> calls;
  if (json.is_array()) {
    for (const Json& call : json)
      if (!read_call(call, calls)) return {};
  } else {
    read_call(json, calls);
  }
  return calls;
}

/// Returns the size of the part of `text` before a beginning of `mark` at its end, and before
/// whitespace that precedes it.
std::size_t size_before(std::string_view text, std::string_view mark) {
  std::size_t held = std::min(text.size(), mark.size() - 1);
  while (!text.ends_with(mark.substr(0, held))) --held;
  const std::size_t last = text.substr(0, text.size() - held).find_last_not_of(kBlanks);
  return last == std::string_view::npos ? 0 : last + 1;
}

}  // namespace

void ToolCallParser::take_marked(AnswerPart& part, bool complete) {
  for (;;) {
    const std::size_t open = held_.find(kOpen);
    if (open == std::string::npos) {
      const std::size_t sure = complete ? held_.size() : size_before(held_, kOpen);
      part.content += held_.substr(0, sure);
      held_.erase(0, sure);
      return;
    }
    const std::size_t body = open + kOpen.size(), close = held_.find(kClose, body);
    if (close == std::string::npos && !complete) {
      const std::size_t sure = size_before(std::string_view(held_).substr(0, open), kOpen);
      part.content += held_.substr(0, sure);
      held_.erase(0, sure);
      return;
    }
    const std::size_t size = close == std::string::npos ? std::string::npos : close - body;
    const auto calls = read_calls(std::string_view(held_).substr(body, size));
    const std::size_t end = close == std::string::npos ? held_.size() : close + kClose.size();
    if (calls.empty()) {
      part.content += held_.substr(0, end);
    } else {
      const std::size_t before = held_.find_last_not_of(kBlanks, open == 0 ? 0 : open - 1);
      if (open > 0 && before != std::string::npos) part.content += held_.substr(0, before + 1);
      part.calls.insert(part.calls.end(), calls.begin(), calls.end());
    }
    held_.erase(0, end);
  }
}

AnswerPart ToolCallParser::add(std::string_view text) {
  AnswerPart part;
  held_ += text;
  if (!started_) {
    const std::string_view rest = trimmed(held_);
    if (rest.empty()) return part;
    // The mark of Llama 3 may be incomplete.
    if (rest.size() < kPython.size() && kPython.starts_with(rest)) return part;
    started_ = true;
    whole_ = rest.front() == '{' || rest.front() == '[' || rest.starts_with(kPython);
  }
  if (!whole_) take_marked(part, false);
  return part;
}

AnswerPart ToolCallParser::finish() {
  AnswerPart part;
  if (whole_) {
    part.calls = read_calls(held_);
    if (part.calls.empty()) part.content = held_;
    held_.clear();
  } else {
    take_marked(part, true);
  }
  return part;
}

}  // namespace weft

#include "fixtures.h"

#include <sstream>

#include "weft/serialization/files/read_file.h"

namespace weft::testing {

std::string chat_fixture(const std::string& name) {
  return read_whole_file(std::string(WEFT_FIXTURES) + "/chat/" + name);
}

std::vector<ChatJson> chat_fixture_lines(const std::string& name) {
  std::istringstream text(chat_fixture(name));
  std::vector<ChatJson> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(ChatJson::parse(line));
  return lines;
}

chat::Mapping chat_mapping(const ChatJson& json) {
  chat::Mapping mapping;
  for (const auto& [key, value] : json.items())
    mapping.set(std::make_shared<const chat::TracedText>(key), chat_value(value));
  return mapping;
}

chat::Value chat_value(const ChatJson& json) {
  if (json.is_null()) return chat::None();
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return chat::text_value(json.get<std::string>());
  if (json.is_object()) return std::make_shared<const chat::Mapping>(chat_mapping(json));
  chat::Sequence sequence;
  for (const ChatJson& item : json) sequence.items.push_back(chat_value(item));
  return std::make_shared<const chat::Sequence>(std::move(sequence));
}

std::tm chat_time() {
  std::tm time = {};
  time.tm_year = 124;
  time.tm_mon = 6;
  time.tm_mday = 26;
  time.tm_hour = 9;
  time.tm_min = 5;
  time.tm_sec = 3;
  time.tm_wday = 5;
  time.tm_yday = 207;
  return time;
}

}  // namespace weft::testing

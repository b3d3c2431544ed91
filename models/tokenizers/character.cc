#include "weft/models/tokenizers/character.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "weft/core/error.h"
#include "weft/models/tokenizers/utf8.h"
#include "weft/serialization/strict_json.h"

namespace weft {

CharacterTokenizer::CharacterTokenizer(std::vector<char32_t> characters)
    : characters_(std::move(characters)) {
  for (std::size_t i = 0; i < characters_.size(); ++i)
    ids_.emplace(characters_[i], static_cast<std::int32_t>(i));
}

CharacterTokenizer CharacterTokenizer::from_text(std::string_view text) {
  if (text.empty()) throw ArgumentError("an empty text has no vocabulary");
  std::set<char32_t> characters;
  for (std::size_t offset = 0; offset < text.size();)
    characters.insert(next_code_point(text, offset));
  return CharacterTokenizer({characters.begin(), characters.end()});
}

std::string CharacterTokenizer::to_json() const {
  return nlohmann::json{{"type", "character"}, {"characters", characters()}}.dump();
}

CharacterTokenizer CharacterTokenizer::from_json(std::string_view json) {
  const nlohmann::json parsed = parse_json(json, "the tokenizer");
  if (!parsed.is_object() || parsed.value("type", nlohmann::json()) != "character" ||
      !parsed.contains("characters") || !parsed["characters"].is_string()) {
    throw FormatError(
        "not a character tokenizer: expected {\"type\": \"character\", \"characters\": ...}");
  }
  const std::string text = parsed["characters"].get<std::string>();
  std::vector<char32_t> characters;
  for (std::size_t offset = 0; offset < text.size();)
    characters.push_back(next_code_point(text, offset));
  if (characters.empty() || std::adjacent_find(characters.begin(), characters.end(),
                                               std::greater_equal<>()) != characters.end())
    throw FormatError("not a character tokenizer: its characters must be ascending and distinct");
  return CharacterTokenizer(std::move(characters));
}

std::vector<std::int32_t> CharacterTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  ids.reserve(text.size());
  for (std::size_t offset = 0; offset < text.size();) {
    const char32_t c = next_code_point(text, offset);
    const auto it = ids_.find(c);
    if (it == ids_.end()) {
      throw DataError(
          fmt::format("character {} at position {} is not in the vocabulary ({} characters from "
                      "the training text)",
                      describe_character(c), ids.size(), characters_.size()));
    }
    ids.push_back(it->second);
  }
  return ids;
}

std::string CharacterTokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  text.reserve(ids.size());
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= vocab_size())
      throw DataError(
          fmt::format("token id {} is outside the vocabulary [0, {})", id, vocab_size()));
    append_utf8(text, characters_[static_cast<std::size_t>(id)]);
  }
  return text;
}

std::string CharacterTokenizer::start_text() const {
  std::string text;
  append_utf8(text, ids_.contains(U'\n') ? U'\n' : characters_.front());
  return text;
}

std::string CharacterTokenizer::characters() const {
  std::string text;
  for (const char32_t c : characters_) append_utf8(text, c);
  return text;
}

}  // namespace weft

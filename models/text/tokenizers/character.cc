#include "weft/models/text/tokenizers/character.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "weft/core/error.h"
#include "weft/models/text/unicode/characters.h"
#include "weft/serialization/files/strict_json.h"

namespace weft {

namespace {

constexpr const char *kPadding = "<pad>", *kEnd = "</s>";

}  // namespace

CharacterTokenizer::CharacterTokenizer(std::vector<char32_t> characters)
    : characters_(std::move(characters)) {
  for (std::size_t i = 0; i < characters_.size(); ++i)
    ids_.emplace(characters_[i], static_cast<std::int32_t>(i));
}

CharacterTokenizer CharacterTokenizer::with_ends() const {
  if (first_ > 0) return *this;
  CharacterTokenizer result = *this;
  result.special_.pad = result.first_++;
  result.special_.eos = result.first_++;
  for (auto& [character, id] : result.ids_) id += result.first_;
  return result;
}

CharacterTokenizer CharacterTokenizer::from_text(std::string_view text) {
  if (text.empty()) throw ArgumentError("cannot build a vocabulary from an empty text");
  std::set<char32_t> characters;
  for (std::size_t offset = 0; offset < text.size();)
    characters.insert(next_code_point(text, offset));
  return CharacterTokenizer({characters.begin(), characters.end()});
}

std::string CharacterTokenizer::to_bytes() const {
  nlohmann::json json{{"type", "character"}, {"characters", characters()}};
  if (first_ > 0) json["ends"] = true;
  return json.dump();
}

CharacterTokenizer CharacterTokenizer::from_bytes(std::string_view json) {
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
    throw FormatError(
        "not a character tokenizer: its characters must be distinct and in ascending order");
  const nlohmann::json ends = parsed.value("ends", nlohmann::json(false));
  if (!ends.is_boolean())
    throw FormatError("not a character tokenizer: \"ends\" must be true or false");
  const CharacterTokenizer plain(std::move(characters));
  return ends.get<bool>() ? plain.with_ends() : plain;
}

std::vector<std::int32_t> CharacterTokenizer::encode(std::string_view text, TextPlace) const {
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

Encoding CharacterTokenizer::encode_alone(std::string_view text, const EncodeOptions& options,
                                          const TokenLimit&) const {
  Encoding result;
  std::uint32_t at = 0;
  for (const std::int32_t id : encode(text, options.place)) {
    const auto size = static_cast<std::uint32_t>(character_size(text[at]));
    result.add(id, {at, at + size}, static_cast<std::int32_t>(result.size()), 0, 0);
    at += size;
  }
  return result;
}

std::vector<std::string> CharacterTokenizer::pieces(std::string_view text) const {
  std::vector<std::string> pieces;
  for (const std::int32_t id : encode(text)) pieces.push_back(piece(id));
  return pieces;
}

void CharacterTokenizer::check(std::int32_t id) const {
  if (id < 0 || id >= vocab_size())
    throw DataError(fmt::format("token id {} is outside the vocabulary [0, {})", id, vocab_size()));
}

std::string CharacterTokenizer::decode(std::span<const std::int32_t> ids,
                                       const DecodeOptions& options) const {
  std::string text;
  text.reserve(ids.size());
  for (const std::int32_t id : ids) {
    if (!is_special(id)) {
      append_utf8(text, characters_[static_cast<std::size_t>(id - first_)]);
    } else if (options.keep_special) {
      text += piece(id);
    }
  }
  return text;
}

std::string CharacterTokenizer::piece(std::int32_t id) const {
  if (is_special(id)) return id == special_.pad ? kPadding : kEnd;
  return decode({&id, 1});
}

std::int32_t CharacterTokenizer::find(std::string_view piece) const {
  if (piece == kPadding) return special_.pad;
  if (piece == kEnd) return special_.eos;
  if (piece.empty()) return -1;
  std::size_t offset = 0;
  const auto found = ids_.find(next_code_point(piece, offset));
  return found == ids_.end() || offset < piece.size() ? -1 : found->second;
}

bool CharacterTokenizer::is_special(std::int32_t id) const {
  check(id);
  return id < first_;
}

bool CharacterTokenizer::is_word_start(std::int32_t id) const {
  check(id);
  return true;
}

std::string CharacterTokenizer::characters() const {
  return utf8(std::u32string_view(characters_.data(), characters_.size()));
}

}  // namespace weft

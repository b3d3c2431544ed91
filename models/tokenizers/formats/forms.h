// How the values of a tokenizer's parts stand in JSON.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/models/tokenizers/formats/fields.h"
#include "weft/models/tokenizers/normalizers/precompiled_map.h"
#include "weft/models/tokenizers/pattern.h"
#include "weft/models/tokenizers/post_processors/template.h"
#include "weft/models/tokenizers/subwords/vocabulary.h"
#include "weft/models/tokenizers/unicode/characters.h"

namespace weft {

/// A string of one character.
template <>
struct JsonForm<char32_t> {
  static void read(const nlohmann::json& json, const std::string& where, char32_t& value);
  static void write(OrderedJson& json, const char32_t& value) { json = utf8(value); }
};

/// {"String": "..."} or {"Regex": "..."}.
template <>
struct JsonForm<Pattern> {
  static void read(const nlohmann::json& json, const std::string& where, Pattern& value);
  static void write(OrderedJson& json, const Pattern& value) {
    json[value.is_regex ? "Regex" : "String"] = value.text;
  }
};

/// {"Sequence": {...}} or {"SpecialToken": {...}}.
template <>
struct JsonForm<post_processors::TemplatePiece> {
  static void read(const nlohmann::json& json, const std::string& where,
                   post_processors::TemplatePiece& value);
  static void write(OrderedJson& json, const post_processors::TemplatePiece& value);
};

template <>
struct JsonForm<normalizers::Base64> {
  static void read(const nlohmann::json& json, const std::string& where,
                   normalizers::Base64& value);
  static void write(OrderedJson& json, const normalizers::Base64& value);
};

/// The pieces of an object that was read apart. Throws FormatError where there are none.
Vocabulary vocabulary_of(const JsonLists& lists, const std::string& where);
/// "left right" as two pieces; `place` says where it stands, for messages. Throws FormatError.
std::pair<std::string, std::string> split_merge(std::string_view text,
                                                FunctionRef<std::string()> place);
/// The pieces of a vocab.json: {"piece": id, ...}; `what` names it in messages. Throws FormatError.
Vocabulary read_vocabulary(std::string_view json, const std::string& what);

}  // namespace weft

// JSON forms of the values in tokenizer components.
#pragma once

#include <string>
#include <utility>

#include "weft/core/function_ref.h"
#include "weft/models/text/tokenizers/formats/fields.h"
#include "weft/models/text/tokenizers/normalizers/precompiled_map.h"
#include "weft/models/text/tokenizers/post_processors/template_processing.h"
#include "weft/models/text/tokenizers/subwords/vocabulary.h"
#include "weft/models/text/unicode/characters.h"
#include "weft/models/text/unicode/pattern.h"

namespace weft {

/// A character. JSON form: a string with one character.
template <>
struct JsonForm<char32_t> {
  static void read(const nlohmann::json& json, const std::string& where, char32_t& value);
  static void write(OrderedJson& json, const char32_t& value) { json = utf8(value); }
};

/// A pattern. JSON form: {"String": "..."} or {"Regex": "..."}.
template <>
struct JsonForm<Pattern> {
  static void read(const nlohmann::json& json, const std::string& where, Pattern& value);
  static void write(OrderedJson& json, const Pattern& value) {
    json[value.is_regex ? "Regex" : "String"] = value.text;
  }
};

/// A template piece. JSON form: {"Sequence": {...}} or {"SpecialToken": {...}}.
template <>
struct JsonForm<post_processors::TemplatePiece> {
  static void read(const nlohmann::json& json, const std::string& where,
                   post_processors::TemplatePiece& value);
  static void write(OrderedJson& json, const post_processors::TemplatePiece& value);
};

/// Bytes. JSON form: a base64 string.
template <>
struct JsonForm<normalizers::Base64> {
  static void read(const nlohmann::json& json, const std::string& where,
                   normalizers::Base64& value);
  static void write(OrderedJson& json, const normalizers::Base64& value);
};

/// Builds a vocabulary from a separately parsed object. Throws FormatError if it is empty or has
/// invalid ids.
Vocabulary vocabulary_of(const JsonLists& lists, const std::string& where);
/// Splits a merge "left right" into its two pieces. `place` returns the location for error
/// messages. Throws FormatError if `text` is invalid.
std::pair<std::string, std::string> split_merge(std::string_view text,
                                                FunctionRef<std::string()> place);
/// Reads the pieces of a vocab.json: {"piece": id, ...}. `what` names the file in error messages.
/// Throws FormatError if the file is invalid.
Vocabulary read_vocabulary(std::string_view json, const std::string& what);

}  // namespace weft

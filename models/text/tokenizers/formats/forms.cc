#include "weft/models/text/tokenizers/formats/forms.h"

#include "weft/models/text/unicode/repair.h"

namespace weft {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns the key and the value of an object that must have exactly one member.
std::pair<std::string, const nlohmann::json*> only_member(const nlohmann::json& json,
                                                          const std::string& where) {
  if (!json.is_object() || json.size() != 1)
    throw FormatError(
        fmt::format("{} must be an object with one key, not {}", where, json_excerpt(json)));
  return {json.begin().key(), &*json.begin()};
}

}  // namespace

void FieldReader::vocabulary(const char* key, Vocabulary& value) {
  if (find(key) == nullptr) throw FormatError(fmt::format("{} lacks '{}'", where_, key));
  if (lists_ == nullptr || !lists_->table_found)
    throw FormatError(fmt::format("{} must be an object that maps pieces to ids", place(key)));
  value = vocabulary_of(*lists_, place(key));
}

void FieldReader::merges(const char* key, std::vector<std::pair<std::string, std::string>>& value) {
  if (find(key) == nullptr) throw FormatError(fmt::format("{} lacks '{}'", where_, key));
  if (lists_ == nullptr || !lists_->pairs_found)
    throw FormatError(fmt::format("{} must be an array of merges", place(key)));
  value = std::move(lists_->pairs);
  for (auto& merge : value) {
    if (!merge.second.empty()) continue;
    merge = split_merge(merge.first,
                        [&] { return fmt::format("{}[{}]", place(key), &merge - value.data()); });
  }
}

void FieldReader::scores(const char* key, std::vector<std::pair<std::string, double>>& value) {
  if (find(key) == nullptr) throw FormatError(fmt::format("{} lacks '{}'", where_, key));
  if (lists_ == nullptr || !lists_->scores_found)
    throw FormatError(fmt::format("{} must be an array of pieces and scores", place(key)));
  value = std::move(lists_->scores);
}

void FieldWriter::scores(const char* key,
                         const std::vector<std::pair<std::string, double>>& value) {
  JsonForm<std::vector<std::pair<std::string, double>>>::write(object_[key], value);
}

void FieldWriter::merges(const char* key,
                         const std::vector<std::pair<std::string, std::string>>& value) {
  JsonForm<std::vector<std::pair<std::string, std::string>>>::write(object_[key], value);
}

void FieldReader::padding_strategy(const char* key, std::optional<std::uint64_t>& length) {
  const nlohmann::json* found = find(key);
  length.reset();
  if (found != nullptr && *found == "BatchLongest") return;
  if (found != nullptr && found->is_object() && found->size() == 1 && found->contains("Fixed"))
    return JsonForm<std::uint64_t>::read((*found)["Fixed"], place(key), length.emplace());
  throw FormatError(fmt::format("{} must be \"BatchLongest\" or {{\"Fixed\": ...}}", place(key)));
}

void FieldWriter::padding_strategy(const char* key, const std::optional<std::uint64_t>& length) {
  if (length) {
    object_[key]["Fixed"] = *length;
  } else {
    object_[key] = "BatchLongest";
  }
}

void JsonForm<char32_t>::read(const nlohmann::json& json, const std::string& where,
                              char32_t& value) {
  std::string text;
  read_json(json, where, text);
  if (text.empty() || character_size(text.front()) != text.size())
    throw FormatError(fmt::format("{} must be one character, not '{}'", where, excerpt(text)));
  value = character_at(text, 0);
}

void JsonForm<Pattern>::read(const nlohmann::json& json, const std::string& where, Pattern& value) {
  const auto [key, text] = only_member(json, where);
  if (key != "String" && key != "Regex")
    throw FormatError(
        fmt::format("{} has the key '{}'; valid keys are String and Regex", where, excerpt(key)));
  value.is_regex = key == "Regex";
  read_json(*text, where, value.text);
}

void JsonForm<post_processors::TemplatePiece>::read(const nlohmann::json& json,
                                                    const std::string& where,
                                                    post_processors::TemplatePiece& value) {
  const auto [key, inner] = only_member(json, where);
  if (key != "Sequence" && key != "SpecialToken")
    throw FormatError(fmt::format("{} has the key '{}'; valid keys are Sequence and SpecialToken",
                                  where, excerpt(key)));
  value.is_text = key == "Sequence";
  FieldReader fields(*inner, fmt::format("{}.{}", where, key));
  fields.required("id", value.id);
  fields.required("type_id", value.type_id);
  fields.finish();
}

void JsonForm<post_processors::TemplatePiece>::write(OrderedJson& json,
                                                     const post_processors::TemplatePiece& value) {
  OrderedJson& inner = json[value.is_text ? "Sequence" : "SpecialToken"];
  inner["id"] = value.id;
  inner["type_id"] = value.type_id;
}

void JsonForm<normalizers::Base64>::read(const nlohmann::json& json, const std::string& where,
                                         normalizers::Base64& value) {
  std::string text;
  read_json(json, where, text);
  const auto fail = [&] {
    throw FormatError(fmt::format("{} is not valid base64: '{}'", where, excerpt(text)));
  };
  if (text.size() % 4 != 0) fail();
  std::uint32_t bits = 0;
  std::size_t padding = 0;
  value.bytes.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kBase64.find(text[i]);
    const bool pads = text[i] == '=' && i + 2 >= text.size();
    if ((digit == std::string_view::npos && !pads) || (!pads && padding > 0)) fail();
    padding += pads ? 1 : 0;
    bits = bits << 6 | (pads ? 0 : static_cast<std::uint32_t>(digit));
    if (i % 4 != 3) continue;
    for (int shift = 16; shift >= 0; shift -= 8)
      value.bytes += static_cast<char>(bits >> shift & 0xFF);
    bits = 0;
  }
  value.bytes.resize(value.bytes.size() - padding);
}

void JsonForm<normalizers::Base64>::write(OrderedJson& json, const normalizers::Base64& value) {
  std::string text;
  const std::string& bytes = value.bytes;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = i; k < i + 3; ++k)
      bits = bits << 8 | (k < bytes.size() ? static_cast<unsigned char>(bytes[k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      text += i + k > bytes.size() ? '=' : kBase64[bits >> (18 - 6 * k) & 63];
  }
  json = std::move(text);
}

Vocabulary vocabulary_of(const JsonLists& lists, const std::string& where) {
  if (lists.table.empty()) throw FormatError(fmt::format("{} has no pieces", where));
  std::vector<std::pair<std::string_view, std::int32_t>> pieces;
  pieces.reserve(lists.table.size());
  for (const auto& [piece, id] : lists.table) {
    if (!std::in_range<std::int32_t>(id)) {
      throw FormatError(
          fmt::format("{}: the piece '{}' has the invalid id {}", where, excerpt(piece), id));
    }
    pieces.emplace_back(piece, static_cast<std::int32_t>(id));
  }
  return Vocabulary(pieces);
}

std::pair<std::string, std::string> split_merge(std::string_view text,
                                                FunctionRef<std::string()> place) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos || text.find(' ', blank + 1) != std::string_view::npos) {
    throw FormatError(fmt::format("{} must be two pieces separated by a space, not '{}'", place(),
                                  excerpt(text)));
  }
  return {std::string(text.substr(0, blank)), std::string(text.substr(blank + 1))};
}

Vocabulary read_vocabulary(std::string_view json, const std::string& what) {
  JsonLists lists{.table_path = ""};
  parse_json_object(json, what, lists);
  return vocabulary_of(lists, what);
}

void FieldWriter::vocabulary(const char* key, const Vocabulary& value) {
  OrderedJson& json = object_[key] = OrderedJson::object();
  // Append to the underlying vector, because operator[] of an ordered object performs a linear
  // search for each key.
  auto& object = json.get_ref<OrderedJson::object_t&>();
  for (std::int32_t id = 0; id < value.size(); ++id) {
    if (value.has(id)) {
      static_cast<std::vector<OrderedJson::object_t::value_type>&>(object).emplace_back(
          std::string(value.piece(id)), id);
    }
  }
}

}  // namespace weft

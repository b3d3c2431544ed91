#include "weft/models/text/tokenizers/formats/folder_settings.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "weft/models/text/tokenizers/subwords/vocabulary.h"
#include "weft/serialization/files/read_file.h"

namespace weft {

using nlohmann::json;

namespace {

/// The text of a special token. In files, this is a string or an object with the member "content".
struct TokenName {
  std::string text;
};

/// A token in "added_tokens_decoder". Files may omit fields that are false, and may contain other
/// fields.
struct DescribedToken {
  AddedToken token;
};

}  // namespace

template <>
struct JsonForm<TokenName> {
  static void read(const json& json, const std::string& where, TokenName& value) {
    const bool in_object = json.is_object() && json.contains("content");
    JsonForm<std::string>::read(in_object ? json["content"] : json,
                                in_object ? where + ".content" : where, value.text);
  }
};

template <>
struct JsonForm<DescribedToken> {
  static void read(const json& json, const std::string& where, DescribedToken& value) {
    FieldReader fields(json, where);
    fields.required("content", value.token.content);
    fields.optional("single_word", value.token.single_word);
    fields.optional("lstrip", value.token.lstrip);
    fields.optional("rstrip", value.token.rstrip);
    fields.optional("normalized", value.token.normalized);
    fields.optional("special", value.token.special);
  }
};

FolderSettings::FolderSettings(std::string folder)
    : folder_(std::move(folder)), config_(object(kConfigFile)), special_(object(kSpecialFile)) {}

bool FolderSettings::has(const char* file) const {
  return std::filesystem::exists(std::filesystem::path(folder_) / file);
}

std::string FolderSettings::read(const char* file) const {
  if (!has(file)) throw FormatError(fmt::format("{} is missing", file));
  return read_whole_file((std::filesystem::path(folder_) / file).string());
}

json FolderSettings::object(const char* file) const {
  return has(file) ? parse_json_object(read(file), file) : json::object();
}

std::string FolderSettings::tokenizer_class() const {
  std::string name = value<std::string>("tokenizer_class").value_or("");
  if (constexpr std::string_view kFast = "Fast"; name.ends_with(kFast))
    name.resize(name.size() - kFast.size());
  return name;
}

std::optional<std::string> FolderSettings::token(const std::string& key) const {
  std::optional<TokenName> name;
  FieldReader(special_, kSpecialFile).optional(key.c_str(), name);
  if (!name) name = value<TokenName>(key.c_str());
  return name ? std::optional(std::move(name->text)) : std::nullopt;
}

std::vector<AddedToken> FolderSettings::added() const {
  std::vector<AddedToken> tokens;
  std::set<std::string> known;
  const auto add = [&](const AddedToken& token, const std::string& where) {
    if (token.content.empty()) throw FormatError(where + " has an added token with an empty text");
    if (token.id < 0 || token.id > Vocabulary::kHighestId) {
      throw FormatError(fmt::format("{} maps '{}' to the id {}; valid ids are 0 to {}", where,
                                    excerpt(token.content), token.id, Vocabulary::kHighestId));
    }
    tokens.push_back(token);
  };
  constexpr const char* kById = "added_tokens_decoder";
  const std::string where = fmt::format("{}.{}", kConfigFile, kById);
  if (auto described = value<std::map<std::string, DescribedToken>>(kById)) {
    for (auto& [key, value] : *described) {
      const char* const end = key.data() + key.size();
      const auto [read, error] = std::from_chars(key.data(), end, value.token.id);
      if (error != std::errc() || read != end)
        throw FormatError(
            fmt::format("{} has the key '{}', which is not an id", where, excerpt(key)));
      add(value.token, where);
      known.insert(value.token.content);
    }
  }
  std::map<std::string, std::int32_t> ids;
  JsonForm<decltype(ids)>::read(object(kAddedFile), kAddedFile, ids);
  for (const auto& [content, id] : ids) {
    if (!known.contains(content)) add({.id = id, .content = content}, kAddedFile);
  }
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  return tokens;
}

}  // namespace weft

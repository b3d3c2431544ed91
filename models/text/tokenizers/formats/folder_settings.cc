#include "weft/models/text/tokenizers/formats/folder_settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "weft/models/fields/ignored_keys.h"
#include "weft/models/text/tokenizers/subwords/vocabulary.h"
#include "weft/serialization/files/byte_order_mark.h"
#include "weft/serialization/files/read_file.h"

namespace weft {

using nlohmann::json;

namespace {

/// The endings of the files that are texts. Others are SentencePiece models.
constexpr std::string_view kTextEndings[] = {".json", ".txt", ".jinja"};

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

namespace {

/// The tokenizer classes of model types.
constexpr std::pair<std::string_view, std::string_view> kFamilies[] = {
    {"bert", "BertTokenizer"},         {"distilbert", "DistilBertTokenizer"},
    {"electra", "ElectraTokenizer"},   {"mobilebert", "MobileBertTokenizer"},
    {"convbert", "ConvBertTokenizer"}, {"squeezebert", "SqueezeBertTokenizer"},
    {"layoutlm", "LayoutLMTokenizer"}, {"lxmert", "LxmertTokenizer"},
    {"mpnet", "MPNetTokenizer"},       {"funnel", "FunnelTokenizer"},
    {"llama", "LlamaTokenizer"},       {"mistral", "LlamaTokenizer"},
    {"mixtral", "LlamaTokenizer"},     {"gemma", "GemmaTokenizer"},
    {"gemma2", "GemmaTokenizer"},      {"gemma3_text", "GemmaTokenizer"},
    {"cohere", "CohereTokenizer"}};

std::string without_fast(std::string name) {
  if (constexpr std::string_view kFast = "Fast"; name.ends_with(kFast))
    name.resize(name.size() - kFast.size());
  return name;
}

}  // namespace

FolderSettings::FolderSettings(ModelPath folder)
    : folder_(std::move(folder)), config_(object(kConfigFile)), special_(object(kSpecialFile)) {}

bool FolderSettings::has(const char* file) const {
  return std::filesystem::exists(std::filesystem::path(folder_.path) / file);
}

std::string FolderSettings::read(const char* file) const {
  if (!has(file)) throw FormatError(fmt::format("{} is missing", file));
  std::string contents = read_whole_file((std::filesystem::path(folder_.path) / file).string());
  const bool is_text =
      std::any_of(std::begin(kTextEndings), std::end(kTextEndings),
                  [&](std::string_view end) { return std::string_view(file).ends_with(end); });
  if (is_text) contents.erase(0, byte_order_mark(contents, file));
  return contents;
}

json FolderSettings::object(const char* file) const {
  if (!has(file)) return json::object();
  json contents = parse_json_object(read(file), file);
  for (const std::string& key : folder_.ignored_keys) remove_key(contents, key);
  return contents;
}

std::string FolderSettings::tokenizer_class() const {
  return without_fast(value<std::string>("tokenizer_class").value_or(""));
}

std::string FolderSettings::class_or_family() const {
  std::string name = tokenizer_class();
  if (!name.empty() || !has(kConfigFile) || !has("config.json")) return name;
  const json model = object("config.json");
  const auto text = [&](const char* key) {
    const auto found = model.find(key);
    return found != model.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  name = without_fast(text("tokenizer_class"));
  if (!name.empty()) return name;
  const auto family =
      std::find_if(std::begin(kFamilies), std::end(kFamilies),
                   [&](const auto& each) { return each.first == text("model_type"); });
  return family == std::end(kFamilies) ? std::string() : std::string(family->second);
}

std::vector<std::pair<std::string, std::string>> FolderSettings::further_special() const {
  std::vector<std::pair<std::string, std::string>> tokens;
  for (const auto& [file, settings] :
       {std::pair(kConfigFile, &config_), std::pair(kSpecialFile, &special_)}) {
    for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
      const auto list = settings->find(key);
      if (list == settings->end() || list->is_null()) continue;
      const std::string where = fmt::format("{}.{}", file, key);
      if (!list->is_array() && !list->is_object()) {
        throw FormatError(
            fmt::format("{} must be an array or an object, not {}", where, json_excerpt(*list)));
      }
      for (const json& item : *list) {
        TokenName name;
        JsonForm<TokenName>::read(item, where, name);
        tokens.emplace_back(where, std::move(name.text));
      }
    }
  }
  return tokens;
}

std::span<const std::string_view> bert_classes() {
  static constexpr std::array<std::string_view, 13> kBertClasses = {"BertTokenizer",
                                                                    "DistilBertTokenizer",
                                                                    "ElectraTokenizer",
                                                                    "MobileBertTokenizer",
                                                                    "ConvBertTokenizer",
                                                                    "SqueezeBertTokenizer",
                                                                    "LayoutLMTokenizer",
                                                                    "LxmertTokenizer",
                                                                    "RetriBertTokenizer",
                                                                    "RealmTokenizer",
                                                                    "DPRReaderTokenizer",
                                                                    "DPRContextEncoderTokenizer",
                                                                    "DPRQuestionEncoderTokenizer"};
  return kBertClasses;
}

bool is_bert_class(std::string_view name) {
  return std::find(bert_classes().begin(), bert_classes().end(), name) != bert_classes().end();
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

#include "weft/models/tokenizers/formats/sentence_piece_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "weft/core/error.h"
#include "weft/models/tokenizers/formats/sentence_piece_layouts.h"
#include "weft/serialization/read_file.h"
#include "weft/serialization/strict_json.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Layout = SentencePieceModel::Layout;

json read_object(const fs::path& file) {
  if (!fs::exists(file)) return json::object();
  return parse_json_object(read_whole_file(file.string()), file.string());
}

/// What a folder says of its tokenizer.
struct Settings {
  fs::path folder;
  json config;   // tokenizer_config.json
  json special;  // special_tokens_map.json

  std::int64_t number(const char* key, std::int64_t otherwise) const {
    const auto it = config.find(key);
    if (it == config.end() || it->is_null()) return otherwise;
    if (!it->is_number_integer())
      throw FormatError(fmt::format("'{}' must be a whole number, not {}", key, json_excerpt(*it)));
    return it->get<std::int64_t>();
  }
  bool flag(const char* key, bool otherwise) const {
    const auto it = config.find(key);
    if (it == config.end() || it->is_null()) return otherwise;
    if (!it->is_boolean())
      throw FormatError(fmt::format("'{}' must be true or false, not {}", key, json_excerpt(*it)));
    return it->get<bool>();
  }
  /// A token's name: it stands as a string, or as an object with its "content".
  void name(const std::string& key, std::string& value) const {
    for (const json* from : {&special, &config}) {
      const auto it = from->find(key);
      if (it == from->end()) continue;
      if (it->is_string()) value = it->get<std::string>();
      if (it->is_object() && it->contains("content") && it->at("content").is_string())
        value = it->at("content").get<std::string>();
      return;
    }
  }
};

Layout marian(const SentencePieceModel& model, const Settings& settings) {
  std::vector<std::pair<std::string, std::int64_t>> vocab;
  const json ids = read_object(settings.folder / "vocab.json");
  for (const auto& [text, id] : ids.items()) {
    if (!id.is_number_integer())
      throw FormatError(fmt::format("vocab.json: '{}' has the id {}", text, json_excerpt(id)));
    vocab.emplace_back(text, id.get<std::int64_t>());
  }
  return marian_layout(model, vocab);
}

/// A class of tokenizers: what it makes of a model's ids, and how its special ids are called.
struct Class {
  const char* name;
  Layout (*layout)(const SentencePieceModel&, const Settings&);
  SpecialNames names;
};

const std::array<Class, 9>& classes() {
  using Model = SentencePieceModel;
  const auto plain = [](const Model& model, const Settings&) { return plain_layout(model); };
  const SpecialNames fairseq = {"<pad>", "<unk>", "<s>", "</s>", "<s>", "</s>", "<mask>"};
  static const std::array<Class, 9> all = {
      Class{"T5Tokenizer",
            [](const Model& model, const Settings& settings) {
              return t5_layout(model, settings.number("extra_ids", 100));
            },
            {"<pad>", "<unk>", "", "</s>", "", "", ""}},
      Class{"XLMRobertaTokenizer",
            [](const Model& model, const Settings&) { return fairseq_layout(model); }, fairseq},
      Class{"MBartTokenizer",
            [](const Model& model, const Settings&) {
              return fairseq_layout(model, mbart_languages(false));
            },
            fairseq},
      Class{"MBart50Tokenizer",
            [](const Model& model, const Settings&) {
              return fairseq_layout(model, mbart_languages(true));
            },
            fairseq},
      Class{"PegasusTokenizer",
            [](const Model& model, const Settings& settings) {
              return pegasus_layout(model, settings.number("offset", 103));
            },
            {"<pad>", "<unk>", "", "</s>", "", "", "<mask_2>"}},
      Class{"LlamaTokenizer", plain, {"", "<unk>", "<s>", "</s>", "", "", ""}},
      Class{"AlbertTokenizer",
            plain,
            {"<pad>", "<unk>", "[CLS]", "[SEP]", "[CLS]", "[SEP]", "[MASK]"}},
      Class{"DebertaV2Tokenizer",
            [](const Model& model, const Settings&) {
              Layout layout = plain_layout(model);
              if (find_id(model, layout, "[MASK]") < 0) {
                add_token(model, layout, {.text = "[MASK]"},
                          static_cast<std::int64_t>(layout.ids.size()));
              }
              return layout;
            },
            {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[CLS]", "[SEP]", "[MASK]"}},
      Class{"MarianTokenizer", marian, {"<pad>", "<unk>", "", "</s>", "", "", ""}}};
  return all;
}

/// The class that a folder names, the fast kind or the other.
const Class* class_of(const Settings& settings) {
  const auto it = settings.config.find("tokenizer_class");
  if (it == settings.config.end() || !it->is_string()) return nullptr;
  std::string name = it->get<std::string>();
  if (constexpr std::string_view kFast = "Fast"; name.ends_with(kFast))
    name.resize(name.size() - kFast.size());
  const auto found = std::find_if(classes().begin(), classes().end(),
                                  [&](const Class& c) { return name == c.name; });
  return found == classes().end() ? nullptr : &*found;
}

/// Tokens of added_tokens.json, {"<extra>": 32000}, and of "added_tokens_decoder", {"32000":
/// {"content": "<extra>", ...}}, in order of their ids.
void add_tokens(const SentencePieceModel& model, const Settings& settings, Layout& layout) {
  std::vector<std::pair<std::int64_t, SentencePieceModel::Added>> tokens;
  const json added = read_object(settings.folder / "added_tokens.json");
  for (const auto& [text, id] : added.items()) {
    if (!id.is_number_integer())
      throw FormatError(fmt::format("the added token '{}' has the id {}", text, json_excerpt(id)));
    tokens.emplace_back(id.get<std::int64_t>(), SentencePieceModel::Added{text, false});
  }
  if (const auto it = settings.config.find("added_tokens_decoder");
      it != settings.config.end() && it->is_object()) {
    for (const auto& [id, token] : it->items()) {
      const bool number =
          !id.empty() && id.size() < 10 &&
          std::all_of(id.begin(), id.end(), [](char c) { return c >= '0' && c <= '9'; });
      if (!number || !token.is_object() || !token.contains("content") ||
          !token.at("content").is_string())
        throw FormatError(
            fmt::format("added_tokens_decoder has '{}': {}", id, json_excerpt(token)));
      const auto flag = [&token = token](const char* key) {
        const auto found = token.find(key);
        return found != token.end() && found->is_boolean() && found->get<bool>();
      };
      tokens.emplace_back(std::stoll(id), SentencePieceModel::Added{
                                              token.at("content").get<std::string>(),
                                              flag("special"), flag("lstrip"), flag("rstrip")});
    }
  }
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [id, token] : tokens) {
    if (token.text.empty()) throw FormatError(fmt::format("the added token {} has no text", id));
    add_token(model, layout, token, id);
  }
}

}  // namespace

SentencePieceTokenizer read_sentence_piece_folder(const std::string& folder,
                                                  const std::string& file) {
  const auto tokenizer = SentencePieceTokenizer::from_bytes(read_whole_file(file));
  const Settings settings{folder, read_object(fs::path(folder) / "tokenizer_config.json"),
                          read_object(fs::path(folder) / "special_tokens_map.json")};
  const Class* known = class_of(settings);
  const SentencePieceModel& model = tokenizer.model();
  if (known == nullptr || !model.layout.ids.empty()) return tokenizer;
  Layout layout = known->layout(model, settings);
  layout.restarts = settings.flag("legacy", true);
  add_tokens(model, settings, layout);
  SpecialNames names = known->names;
  for (std::size_t i = 0; i < names.size(); ++i)
    settings.name(fmt::format("{}_token", kSpecialIds[i].name), names[i]);
  set_special(model, layout, names);
  return tokenizer.with_layout(std::move(layout));
}

}  // namespace weft

#include "weft/models/tokenizers/folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/tokenizers/formats/sentence_piece_folder.h"
#include "weft/models/tokenizers/formats/text_files.h"
#include "weft/models/tokenizers/formats/tokenizer_json.h"
#include "weft/serialization/read_file.h"
#include "weft/serialization/strict_json.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// What the library calls a SentencePiece model, by family.
constexpr std::array<const char*, 5> kPieceFiles = {
    "spiece.model", "spm.model", "sentencepiece.bpe.model", "tokenizer.model", "source.spm"};
constexpr const char* kConfigFile = "tokenizer_config.json";
constexpr const char* kSpecialFile = "special_tokens_map.json";

std::string read(const fs::path& file) { return read_whole_file(file.string()); }

/// A file's object, empty where there is no such file.
json read_object(const fs::path& file) {
  if (!fs::exists(file)) return json::object();
  return parse_json_object(read(file), file.string());
}

Tokenizer tokenizer_of(SubwordParts parts) {
  return SubwordTokenizer(std::make_shared<const SubwordPipeline>(std::move(parts)));
}

/// A token's text: it stands as a string, or as an object with its "content".
std::optional<std::string> token_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.contains("content") && value["content"].is_string())
    return value["content"].get<std::string>();
  return std::nullopt;
}

/// The names of special tokens that a folder's settings give: what is said in special_tokens_map
/// counts.
void read_special(const fs::path& folder, SubwordParts& parts) {
  const json config = read_object(folder / kConfigFile), map = read_object(folder / kSpecialFile);
  const auto look = [&](const std::string& key, std::int32_t& id) {
    for (const json* source : {&map, &config}) {
      const auto it = source->find(key);
      if (it == source->end()) continue;
      const std::optional<std::string> text = token_text(*it);
      if (!text) continue;
      id = parts.model->find(*text);
      for (const AddedToken& token : parts.added)
        if (token.content == *text) id = token.id;
      if (id >= 0) return;
    }
  };
  for (const auto& [name, id] : kSpecialIds) look(fmt::format("{}_token", name), parts.special.*id);
}

/// Tokens of added_tokens.json: {"<extra>": 50257}.
void read_added(const fs::path& folder, SubwordParts& parts) {
  const json given = read_object(folder / "added_tokens.json");
  for (const auto& [content, id] : given.items()) {
    AddedToken token;
    token.content = content;
    if (!id.is_number_integer())
      throw FormatError(fmt::format("the added token '{}' has the id {}", content, id.dump()));
    token.id = id.get<std::int32_t>();
    const auto same = [&](const AddedToken& other) { return other.content == content; };
    if (std::find_if(parts.added.begin(), parts.added.end(), same) == parts.added.end())
      parts.added.push_back(token);
  }
}

template <class T>
void set_from(const json& config, const char* key, T& value) {
  const auto it = config.find(key);
  if (it == config.end() || it->is_null()) return;
  if (!it->is_boolean())
    throw FormatError(fmt::format("'{}' must be true or false, not {}", key, it->dump()));
  value = it->get<bool>();
}

SubwordParts read_gpt2(const fs::path& folder) {
  const json config = read_object(folder / kConfigFile);
  Gpt2Settings settings;
  set_from(config, "add_prefix_space", settings.add_prefix_space);
  SubwordParts parts =
      read_gpt2_files(read(folder / "vocab.json"), read(folder / "merges.txt"), settings);
  read_added(folder, parts);
  return parts;
}

SubwordParts read_bert(const fs::path& folder) {
  const json config = read_object(folder / kConfigFile);
  BertSettings settings;
  set_from(config, "do_lower_case", settings.lowercase);
  set_from(config, "strip_accents", settings.strip_accents);
  set_from(config, "tokenize_chinese_chars", settings.tokenize_chinese_chars);
  SubwordParts parts = read_bert_files(read(folder / "vocab.txt"), settings);
  read_added(folder, parts);
  return parts;
}

SubwordParts read_json_file(const fs::path& folder) {
  const fs::path file = folder / "tokenizer.json";
  return read_tokenizer_json(read(file), file.string());
}

/// Files that hold a tokenizer of subwords, and who reads them.
struct Layout {
  std::vector<const char*> files;
  SubwordParts (*read)(const fs::path&);
};
const std::array<Layout, 3>& layouts() {
  static const std::array<Layout, 3> all = {Layout{{"tokenizer.json"}, read_json_file},
                                            Layout{{"vocab.json", "merges.txt"}, read_gpt2},
                                            Layout{{"vocab.txt"}, read_bert}};
  return all;
}

}  // namespace

FolderTokenizer read_tokenizer_folder(const std::string& folder) {
  // The first that there is counts: another one may stand for other ids.
  const auto attempt = [](const fs::path& file, const auto& make) -> FolderTokenizer {
    try {
      return {make()};
    } catch (const FormatError& e) {
      return {std::nullopt, fmt::format("{}: {}", file.string(), e.what())};
    }
  };
  std::vector<std::string> known;
  for (const Layout& layout : layouts()) {
    known.push_back(fmt::format("{}", fmt::join(layout.files, " with ")));
    const bool all = std::all_of(layout.files.begin(), layout.files.end(), [&](const char* name) {
      return fs::exists(fs::path(folder) / name);
    });
    if (!all) continue;
    return attempt(fs::path(folder) / layout.files.front(), [&] {
      SubwordParts parts = layout.read(folder);
      read_special(folder, parts);
      return tokenizer_of(std::move(parts));
    });
  }
  for (const char* name : kPieceFiles) {
    known.emplace_back(name);
    const fs::path file = fs::path(folder) / name;
    if (!fs::exists(file)) continue;
    return attempt(file,
                   [&] { return Tokenizer(read_sentence_piece_folder(folder, file.string())); });
  }
  return {std::nullopt,
          fmt::format("{} has no tokenizer: it holds none of {}", folder, fmt::join(known, ", "))};
}

}  // namespace weft

#include "weft/models/hf/config/settings_files.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

#include "weft/models/fields/ignored_keys.h"
#include "weft/serialization/files/strict_json.h"

namespace weft::hf {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

}  // namespace

const std::vector<std::string>& settings_files() {
  static const std::vector<std::string> files = {"config.json",
                                                 "added_tokens.json",
                                                 "chat_template.jinja",
                                                 "chat_template.json",
                                                 "generation_config.json",
                                                 "preprocessor_config.json",
                                                 "special_tokens_map.json",
                                                 "tokenizer_config.json"};
  return files;
}

const std::vector<std::string>& transformer_settings_files() {
  static const std::vector<std::string> files = {
      "sentence_bert_config.json",       "sentence_roberta_config.json",
      "sentence_distilbert_config.json", "sentence_camembert_config.json",
      "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
      "sentence_xlnet_config.json"};
  return files;
}

std::vector<std::string> json_files_in(const std::string& folder) {
  std::set<std::string> files = {"adapter_config.json", "config_sentence_transformers.json",
                                 "modules.json"};
  for (const auto* names : {&settings_files(), &transformer_settings_files()}) {
    std::copy_if(names->begin(), names->end(), std::inserter(files, files.end()),
                 [](const std::string& name) { return name.ends_with(".json"); });
  }
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_directory(error)) files.insert(it->path().filename().string() + "/config.json");
  }
  std::vector<std::string> existing;
  for (const std::string& name : files) {
    const fs::path file = fs::path(folder) / name;
    if (fs::is_regular_file(file, error)) existing.push_back(file.string());
  }
  return existing;
}

std::string without_keys(std::string_view text, const std::string& file,
                         const std::vector<std::string>& keys, std::set<std::string>& found) {
  if (keys.empty()) return std::string(text);
  json object = parse_json(text, file);
  bool changed = false;
  for (const std::string& key : keys) {
    if (!remove_key(object, key)) continue;
    found.insert(key);
    changed = true;
  }
  return changed ? object.dump(2) + "\n" : std::string(text);
}

}  // namespace weft::hf

#include "weft/models/hf/config/settings_files.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "weft/serialization/files/strict_json.h"

namespace weft::hf {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Removes the key at `path`. Returns false if there is no such key.
bool remove_key(json& object, std::string_view path) {
  if (!object.is_object()) return false;
  const std::string name(path);
  if (object.erase(name) > 0) return true;
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos;
       dot = path.find('.', dot + 1)) {
    const auto inner = object.find(std::string(path.substr(0, dot)));
    if (inner != object.end() && remove_key(*inner, path.substr(dot + 1))) return true;
  }
  return false;
}

}  // namespace

const std::vector<std::string>& settings_files() {
  static const std::vector<std::string> files = {"config.json",
                                                 "added_tokens.json",
                                                 "chat_template.jinja",
                                                 "chat_template.json",
                                                 "config_sentence_transformers.json",
                                                 "generation_config.json",
                                                 "modules.json",
                                                 "1_Pooling/config.json",
                                                 "preprocessor_config.json",
                                                 "sentence_bert_config.json",
                                                 "special_tokens_map.json",
                                                 "tokenizer_config.json"};
  return files;
}

std::vector<std::string> json_files_in(const std::string& folder) {
  std::set<std::string> files = {"adapter_config.json"};
  for (const std::string& name : settings_files()) {
    if (name.ends_with(".json")) files.insert(name);
  }
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_directory(error)) files.insert(it->path().filename().string() + "/config.json");
  }
  std::vector<std::string> existing;
  std::copy_if(
      files.begin(), files.end(), std::back_inserter(existing),
      [&](const std::string& name) { return fs::is_regular_file(fs::path(folder) / name, error); });
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

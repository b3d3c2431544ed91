#include "weft/models/hf/origin.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/hf/config/settings_files.h"
#include "weft/models/hf/folder.h"
#include "weft/models/text/unicode/repair.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/files/strict_json.h"

namespace weft::hf {
namespace {

constexpr std::string_view kWhat = "the original model folder";

constexpr const char* kModulesFile = "modules.json";
constexpr const char* kTransformerFile = "sentence_bert_config.json";

/// Reads a small file, without the ignored keys of the folder. Missing, oversized and invalid files
/// are skipped here. The code that uses their contents reports the errors.
std::optional<std::string> read_small_file(const std::filesystem::path& file,
                                           const Folder& folder) {
  constexpr std::uintmax_t kMostBytes = std::uintmax_t{16} << 20;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error) ||
      std::filesystem::file_size(file, error) > kMostBytes || error)
    return std::nullopt;
  std::string text = read_whole_file(file.string());
  if (find_invalid_utf8(text) != text.size()) return std::nullopt;
  std::set<std::string> found;
  return file.extension() == ".json" ? without_keys(text, file.string(), folder.ignored_keys, found)
                                     : text;
}

/// Returns modules.json for a folder in which the transformers model is not in a subfolder.
std::string with_transformer_in_root(const std::string& text) {
  nlohmann::ordered_json modules = nlohmann::ordered_json::parse(text);
  modules.front()["path"] = "";
  return modules.dump(2) + "\n";
}

/// Adds the settings of Sentence Transformers, as the files of a folder in which the transformers
/// model is not in a subfolder.
void add_sentence_files(FolderOrigin& origin, const Folder& folder) {
  const std::filesystem::path root(folder.root());
  const auto add = [&](const std::string& name, const std::filesystem::path& file) {
    if (auto text = read_small_file(file, folder)) origin.files[name] = *std::move(text);
  };
  add("config_sentence_transformers.json", root / "config_sentence_transformers.json");
  add("1_Pooling/config.json", root / "1_Pooling" / "config.json");
  for (const std::string& name : transformer_settings_files()) {
    if (!origin.files.contains(kTransformerFile))
      add(kTransformerFile, std::filesystem::path(folder.path) / name);
  }
  add(kModulesFile, root / kModulesFile);
  const std::string& modules = origin.text(kModulesFile);
  if (modules.empty()) return;
  try {
    for (const SentenceModule& module : sentence_modules(modules, kModulesFile)) {
      const std::string name = module.path + "/config.json";
      if (!module.path.empty() && root / module.path != folder.path) add(name, root / name);
    }
  } catch (const FormatError&) {
    return;  // models that are not used to compute text vectors do not need the modules
  }
  if (!folder.parent.empty()) origin.files[kModulesFile] = with_transformer_in_root(modules);
}

}  // namespace

const std::string& FolderOrigin::text(const std::string& name) const {
  static const std::string none;
  const auto found = files.find(name);
  return found == files.end() ? none : found->second;
}

std::string FolderOrigin::to_json() const { return nlohmann::json(files).dump(); }

FolderOrigin FolderOrigin::from_json(std::string_view text) {
  FolderOrigin origin;
  const nlohmann::json json = parse_json_object(text, kWhat);
  for (const auto& [name, file] : json.items()) {
    if (!file.is_string()) throw FormatError(fmt::format("{}: '{}' is not a string", kWhat, name));
    origin.files.emplace(name, file.get<std::string>());
  }
  return origin;
}

FolderOrigin read_origin(const Folder& folder) {
  FolderOrigin origin;
  origin.files["config.json"] = folder.config;
  for (const std::string& name : settings_files()) {
    if (name == "config.json") continue;
    if (auto text = read_small_file(std::filesystem::path(folder.path) / name, folder))
      origin.files[name] = *std::move(text);
  }
  add_sentence_files(origin, folder);
  return origin;
}

}  // namespace weft::hf

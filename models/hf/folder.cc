#include "weft/models/hf/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/graph/engine/nonfinite.h"
#include "weft/models/hf/config/class_labels.h"
#include "weft/models/hf/config/settings_files.h"
#include "weft/serialization/files/atomic_file.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/files/strict_json.h"
#include "weft/serialization/safetensors.h"
#include "weft/serialization/tensor_file.h"

namespace weft::hf {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Returns the folder of the transformers model in a model folder.
std::string transformers_folder(const std::string& path) {
  const fs::path list = fs::path(path) / "modules.json";
  std::error_code ignored;
  if (!fs::is_regular_file(list, ignored)) return path;
  const std::string file = list.string();
  const auto modules = sentence_modules(read_whole_file(file, kJsonLimit), file);
  if (modules.empty() || modules.front().name() != "Transformer" || modules.front().path.empty())
    return path;
  const fs::path inner = fs::path(path) / modules.front().path;
  if (!fs::exists(inner / "config.json", ignored)) {
    throw IoError(
        fmt::format("{}: the path of the Transformer is \"{}\", but {} has no config.json", file,
                    modules.front().path, inner.string()));
  }
  return inner.string();
}

/// Throws ArgumentError if no settings file of the folder contains one of the keys to ignore.
void check_ignored_keys(const Folder& folder) {
  if (folder.ignored_keys.empty()) return;
  std::set<std::string> found;
  std::vector<std::string> known;
  std::vector<std::string> files = json_files_in(folder.root());
  if (!folder.parent.empty()) {
    const std::vector<std::string> inner = json_files_in(folder.path);
    files.insert(files.end(), inner.begin(), inner.end());
  }
  for (const std::string& file : files) {
    const std::string text = read_whole_file(file, kJsonLimit);
    without_keys(text, file, folder.ignored_keys, found);
    const json parsed = parse_json(text, file);
    for (const auto& [key, value] : parsed.items()) {
      if (parsed.is_object()) known.push_back(key);
    }
  }
  for (const std::string& key : folder.ignored_keys) {
    if (found.contains(key)) continue;
    throw ArgumentError(
        fmt::format("no settings file of {} contains the key '{}', so it cannot be ignored "
                    "(--ignore-config-key){}",
                    folder.root(), excerpt(key), did_you_mean(key, known)));
  }
}

}  // namespace

std::string Folder::text(const std::string& name) const {
  const std::string file = (fs::path(path) / name).string();
  if (!fs::exists(file)) return {};
  std::set<std::string> found;
  return without_keys(read_whole_file(file, kJsonLimit), file, ignored_keys, found);
}

bool is_folder(const ModelPath& path) {
  if (fs::is_directory(path.path)) return true;
  if (path.ignored_keys.empty()) return false;
  throw ArgumentError(fmt::format(
      "--ignore-config-key is for model folders, whose files contain the key '{}'; {} is not a "
      "folder",
      excerpt(path.ignored_keys.front()), path.path));
}

Folder read_folder(const ModelPath& from) {
  Folder folder{transformers_folder(from.path), {}, {}, from.ignored_keys};
  if (folder.path != from.path) folder.parent = from.path;
  folder.verify = from.verify;
  folder.widen = from.widen;
  check_ignored_keys(folder);
  const std::string config = (fs::path(folder.path) / "config.json").string();
  std::set<std::string> found;
  folder.config =
      without_keys(read_whole_file(config, kJsonLimit), config, from.ignored_keys, found);
  static_cast<void>(parse_json_object(folder.config, config));
  folder.weights = read_tensors(folder.path);
  return folder;
}

std::vector<SentenceModule> sentence_modules(std::string_view text, const std::string& file) {
  const json list = parse_json(text, file);
  if (!list.is_array()) throw FormatError(fmt::format("{} is not a list of modules", file));
  std::vector<SentenceModule> modules;
  for (const json& entry : list) {
    SentenceModule& module = modules.emplace_back();
    const auto read = [&](const char* key, std::string& value) {
      const auto found = entry.find(key);  // end() if the entry is not an object
      if (found == entry.end()) return false;
      if (!found->is_string()) {
        throw FormatError(fmt::format("{}: '{}' of module {} must be a string, not {}", file, key,
                                      modules.size() - 1, json_excerpt(*found)));
      }
      value = found->get<std::string>();
      return true;
    };
    if (!read("type", module.type)) {
      throw FormatError(fmt::format("{}: module {} has no 'type'", file, modules.size() - 1));
    }
    if (!read("path", module.path) && modules.size() > 1)
      module.path = fmt::format("{}_{}", modules.size() - 1, module.name());
    const fs::path path(module.path);
    if (path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end()) {
      throw FormatError(fmt::format("{}: the path \"{}\" of module {} leads out of the folder",
                                    file, excerpt(module.path), modules.size() - 1));
    }
  }
  return modules;
}

std::vector<std::string> class_names(const std::string& config) {
  const json parsed = parse_json_object(config, "config.json");
  const auto architectures = parsed.find("architectures");
  const bool classifies =
      architectures != parsed.end() && architectures->is_array() && !architectures->empty() &&
      architectures->front().is_string() &&
      architectures->front().get<std::string>().find("Classification") != std::string::npos;
  return classifies ? label_names(parsed) : std::vector<std::string>();
}

std::shared_ptr<VariableStore> load_weights(const Model& model, Graph& graph,
                                            const Folder& folder) {
  auto store = std::make_shared<VariableStore>();
  for (auto& [variable, tensor] : match_weights(model, graph, folder.weights, folder.path))
    store->insert(variable.name(), variable.info().kind, std::move(tensor));
  check_weights(*store, folder);
  return store;
}

void check_weights(const VariableStore& store, const Folder& folder) {
  constexpr std::size_t kAlwaysChecked = std::size_t{256} << 20;
  if (folder.verify || folder.widen || store.bytes() <= kAlwaysChecked)
    check_finite(store, folder.path);
}

void write_folder(const std::string& path, const Model& model, const Graph& graph,
                  const VariableStore& store) {
  const fs::path folder(path);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw IoError(fmt::format("cannot create {}: {}", path, error.message()));
  write_safetensors((folder / "model.safetensors").string(), export_weights(model, graph, store),
                    {{"format", "pt"}});
  AtomicFile file((folder / "config.json").string());
  file.write(model.config.data(), model.config.size());
  file.commit();
}

}  // namespace weft::hf

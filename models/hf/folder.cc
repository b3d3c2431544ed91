#include "weft/models/hf/folder.h"

#include <fmt/format.h>

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

// This limit is far above the size of any real config file.
constexpr ReadOptions kJsonFile = {.max_bytes = std::uint64_t{64} << 20};

/// Throws ArgumentError if no settings file of the folder contains one of the keys to ignore.
void check_ignored_keys(const Folder& folder) {
  if (folder.ignored_keys.empty()) return;
  std::set<std::string> found;
  std::vector<std::string> known;
  for (const std::string& name : json_files_in(folder.path)) {
    const std::string file = (fs::path(folder.path) / name).string();
    const std::string text = read_whole_file(file, kJsonFile);
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
                    folder.path, excerpt(key), did_you_mean(key, known)));
  }
}

}  // namespace

std::string Folder::text(const std::string& name) const {
  const std::string file = (fs::path(path) / name).string();
  if (!fs::exists(file)) return {};
  std::set<std::string> found;
  return without_keys(read_whole_file(file, kJsonFile), file, ignored_keys, found);
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
  Folder folder{from.path, {}, {}, from.ignored_keys};
  check_ignored_keys(folder);
  const std::string config = (fs::path(from.path) / "config.json").string();
  std::set<std::string> found;
  folder.config =
      without_keys(read_whole_file(config, kJsonFile), config, from.ignored_keys, found);
  static_cast<void>(parse_json_object(folder.config, config));
  folder.weights = read_tensors(from.path);
  return folder;
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
  check_finite(*store, folder.path);
  return store;
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

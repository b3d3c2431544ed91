#include "weft/serialization/tensor_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <vector>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/serialization/files/foreign_file.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/files/strict_json.h"
#include "weft/serialization/safetensors.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

TensorMap read_shards(const fs::path& index) {
  const nlohmann::json parsed =
      parse_json_object(read_whole_file(index.string(), kJsonLimit), index.string());
  const auto map = parsed.find("weight_map");
  if (map == parsed.end() || !map->is_object())
    throw FormatError(fmt::format("{} has no weight_map", index.string()));
  std::set<std::string> files;
  for (const auto& [name, file] : map->items()) {
    // Shards must be in the folder of the index, so paths are rejected.
    if (!file.is_string() ||
        fs::path(file.get<std::string>()).filename() != file.get<std::string>())
      throw FormatError(fmt::format("{}: '{}' is in {}, which is not a file name", index.string(),
                                    name, json_excerpt(file)));
    files.insert(file.get<std::string>());
  }
  TensorMap tensors;
  for (const std::string& file : files) {
    for (auto& [name, tensor] : read_safetensors((index.parent_path() / file).string()).tensors) {
      if (!tensors.emplace(name, tensor).second)
        throw FormatError(
            fmt::format("{}: the tensor '{}' is in two shards", index.string(), name));
    }
  }
  return tensors;
}

TensorMap read_weights(const std::string& path) {
  TensorMap tensors;
  for (SavedVariable& variable : saved_variables(path)) {
    if (variable.kind != VariableKind::parameter && variable.kind != VariableKind::buffer) continue;
    for (const std::string& alias : variable.aliases) tensors.emplace(alias, variable.value);
    tensors.emplace(variable.name, std::move(variable.value));
  }
  return tensors;
}

/// Returns the files of a folder whose names satisfy `use`, in alphabetical order.
template <class Use>
std::vector<std::string> files_in(const fs::path& folder, Use use) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::error_code error;
    std::string name = entry.path().filename().string();
    if (!entry.is_directory(error) && use(name)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Returns the name of the file with the weights of a model: model.safetensors or its index, else
/// the only index of safetensors files (also of a variant, such as
/// model.safetensors.index.fp16.json), else the only safetensors file. Adapters do not count.
std::string weights_file(const fs::path& folder) {
  for (const char* usual : {"model.safetensors", "model.safetensors.index.json"}) {
    if (fs::exists(folder / usual)) return usual;
  }
  const std::vector<std::string> indexes = files_in(folder, [](const std::string& name) {
    return name.find(".safetensors.index.") != std::string::npos && name.ends_with(".json");
  });
  const std::vector<std::string> tensors = files_in(folder, [](const std::string& name) {
    return name.ends_with(".safetensors") && !name.starts_with("adapter_");
  });
  const std::vector<std::string>& found = indexes.empty() ? tensors : indexes;
  if (found.size() == 1) return found.front();
  const std::string place = folder.string();
  if (found.size() > 1) {
    throw IoError(
        fmt::format("{} contains no model.safetensors, but {}: rename the file with the weights to "
                    "model.safetensors, or add the missing model.safetensors.index.json",
                    place, list_names(found, 5)));
  }
  const std::vector<std::string> others = files_in(folder, [](const std::string& name) {
    return !name.ends_with(".json") && !foreign_format({}, name).empty();
  });
  if (others.empty()) throw IoError(fmt::format("{} contains no model.safetensors", place));
  throw IoError(fmt::format("{} contains no model.safetensors, but only {}, which is {}", place,
                            list_names(others, 5), foreign_format({}, others.front())));
}

TensorMap read_folder_tensors(const fs::path& folder) {
  const std::string name = weights_file(folder);
  const std::string path = (folder / name).string();
  return name.ends_with(".json") ? read_shards(path) : read_safetensors(path).tensors;
}

}  // namespace

TensorMap read_tensors(const std::string& path) {
  if (fs::is_directory(path)) return read_folder_tensors(path);
  if (is_weft_file(path)) return read_weights(path);
  if (path.ends_with(".index.json")) return read_shards(path);
  return read_safetensors(path).tensors;
}

}  // namespace weft

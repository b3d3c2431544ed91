#include "weft/serialization/tensor_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "weft/core/error.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/files/strict_json.h"
#include "weft/serialization/safetensors.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// The limit is far above the size of any real index.
constexpr ReadOptions kIndexFile = {.max_bytes = std::uint64_t{64} << 20};

TensorMap read_shards(const fs::path& index) {
  const nlohmann::json parsed =
      parse_json_object(read_whole_file(index.string(), kIndexFile), index.string());
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

TensorMap read_folder_tensors(const fs::path& folder) {
  const fs::path whole = folder / "model.safetensors";
  const fs::path index = folder / "model.safetensors.index.json";
  if (fs::exists(whole)) return read_safetensors(whole.string()).tensors;
  if (fs::exists(index)) return read_shards(index);
  if (fs::exists(folder / "pytorch_model.bin")) {
    throw IoError(fmt::format("{} contains only pytorch_model.bin: convert it to model.safetensors",
                              folder.string()));
  }
  throw IoError(fmt::format("{} contains no model.safetensors", folder.string()));
}

}  // namespace

TensorMap read_tensors(const std::string& path) {
  if (fs::is_directory(path)) return read_folder_tensors(path);
  if (is_weft_file(path)) return read_weights(path);
  if (path.ends_with(".index.json")) return read_shards(path);
  return read_safetensors(path).tensors;
}

}  // namespace weft

#include "weft/models/hf/adapters/adapter_folder.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <set>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/hf/config/settings_files.h"
#include "weft/models/hf/model.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/match_tensors.h"
#include "weft/serialization/safetensors.h"

namespace weft::hf {
namespace {

namespace fs = std::filesystem;

}  // namespace

ParameterNames parameter_names(const Model& model, const Graph& graph) {
  ParameterNames names;
  for (const Variable& variable : weight_variables(graph)) {
    names.emplace(model.names.theirs(variable.name()), variable.name());
    for (const std::string& alias : variable.info().aliases)
      names.emplace(model.names.theirs(alias), variable.name());
  }
  return names;
}

bool is_adapter_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) &&
         fs::exists(fs::path(path) / kAdapterConfigFile, ignored);
}

ModelPath AdapterFolder::base() const {
  const std::string& name = config.options.base_model;
  std::error_code ignored;
  for (const fs::path& place : {fs::path(name), fs::path(path) / name}) {
    if (!name.empty() && fs::exists(place, ignored))
      return {place.lexically_normal().string(), base_keys};
  }
  throw IoError(fmt::format(
      "{} contains adapters for the base model {}, which is not a local file or folder: combine "
      "them with a local copy of the base model (weft convert BASE --adapters {} --out FILE.weft), "
      "or set base_model_name_or_path in {} to its path",
      path, name.empty() ? "\"\"" : '"' + excerpt(name) + '"', path, kAdapterConfigFile));
}

AdapterFolder read_adapter_folder(const ModelPath& from) {
  const std::string& path = from.path;
  const fs::path folder(path);
  const std::string config = (folder / kAdapterConfigFile).string();
  std::set<std::string> found;
  const std::string text =
      without_keys(read_whole_file(config, kJsonLimit), config, from.ignored_keys, found);
  AdapterFolder result{path, read_adapter_config(text, config), {}};
  for (const std::string& key : from.ignored_keys) {
    if (!found.contains(key)) result.base_keys.push_back(key);
  }
  const fs::path tensors = folder / kAdapterTensorsFile;
  if (!fs::exists(tensors) && fs::exists(folder / "adapter_model.bin")) {
    throw IoError(fmt::format("{} contains only adapter_model.bin: convert it to {}", path,
                              kAdapterTensorsFile));
  }
  result.tensors = read_safetensors(tensors.string()).tensors;
  return result;
}

ModelPath base_of_adapters(ModelPath base, const std::string& adapters) {
  if (!base.ignored_keys.empty() && is_adapter_folder(adapters))
    base.ignored_keys = read_adapter_folder({adapters, base.ignored_keys}).base_keys;
  return base;
}

std::string adapter_tensor_name(std::string_view variable, const Model& model) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kEndings = {
      {{".weight.lora_a", ".lora_A.weight"},
       {".weight.lora_b", ".lora_B.weight"},
       {".weight.lora_embedding_a", ".lora_embedding_A"},
       {".weight.lora_embedding_b", ".lora_embedding_B"}}};
  for (const auto& [ours, theirs] : kEndings) {
    if (!variable.ends_with(ours)) continue;
    const std::string_view module = variable.substr(0, variable.size() - ours.size());
    return fmt::format("base_model.model.{}{}", model.names.theirs(module), theirs);
  }
  return model.names.theirs(variable);
}

}  // namespace weft::hf

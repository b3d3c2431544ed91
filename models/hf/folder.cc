#include "weft/models/hf/folder.h"

#include <fmt/format.h>

#include <filesystem>

#include "weft/core/error.h"
#include "weft/graph/engine/nonfinite.h"
#include "weft/models/hf/config_reader.h"
#include "weft/serialization/files/atomic_file.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/safetensors.h"
#include "weft/serialization/tensor_file.h"

namespace weft::hf {
namespace {

namespace fs = std::filesystem;

// This limit is far above the size of any real config file.
constexpr ReadOptions kJsonFile = {.max_bytes = std::uint64_t{64} << 20};

}  // namespace

Folder read_folder(const std::string& path) {
  const fs::path folder(path);
  return {path, read_whole_file((folder / "config.json").string(), kJsonFile), read_tensors(path)};
}

std::vector<std::string> class_names(const std::string& config) {
  const json parsed = parse_json_object(config, "config.json");
  const auto architectures = parsed.find("architectures");
  const bool classifies =
      architectures != parsed.end() && architectures->is_array() && !architectures->empty() &&
      architectures->front().is_string() &&
      architectures->front().get<std::string>().find("Classification") != std::string::npos;
  const auto labels = parsed.find("id2label");
  if (!classifies || labels == parsed.end() || !labels->is_object()) return {};
  std::vector<std::string> names;
  for (std::size_t id = 0; id < labels->size(); ++id) {
    const auto name = labels->find(std::to_string(id));
    if (name == labels->end() || !name->is_string()) return {};
    names.push_back(name->get<std::string>());
  }
  return names;
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

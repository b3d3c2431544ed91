// Folders of Hugging Face transformers: config.json and model.safetensors (or its shards with
// model.safetensors.index.json).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/graph/run/variable_store.h"
#include "weft/models/hf/model.h"

namespace WEFT_API weft {
namespace hf {

/// Contents of a folder. Tensors are views of mapped files.
struct Folder {
  std::string path;
  std::string config;  // the text of config.json
  TensorMap weights;
};

/// Reads a folder. Throws IoError if a file is missing or the weights are in PyTorch's own format,
/// and FormatError if a file is invalid.
Folder read_folder(const std::string& path);

/// Returns the names of the classes of a classifier (of texts, words or images) from its
/// config.json, in order of their ids. Returns nothing if not all classes have names, or if the
/// model is not a classifier.
std::vector<std::string> class_names(const std::string& config);

/// Returns a store with the weights of the folder for the variables of the model. Strict like
/// match_weights; also throws if a weight is not finite.
std::shared_ptr<VariableStore> load_weights(const Model& model, Graph& graph, const Folder& folder);

/// Writes config.json and model.safetensors, each atomically. Creates the folder if necessary.
void write_folder(const std::string& path, const Model& model, const Graph& graph,
                  const VariableStore& store);

}  // namespace hf
}  // namespace weft

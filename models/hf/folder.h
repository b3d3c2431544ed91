// Folders as Hugging Face's libraries write them: config.json and model.safetensors (also in
// shards, with model.safetensors.index.json).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/graph/run/variable_store.h"
#include "weft/models/hf/model.h"

namespace WEFT_API weft {
namespace hf {

/// What a folder holds. Tensors are views of mapped files.
struct Folder {
  std::string path;
  std::string config;  // the text of config.json
  TensorMap weights;
};

/// Reads a folder. Throws IoError where a file is missing, FormatError where one is not what it
/// should be; weights in PyTorch's own format are an IoError that says so.
Folder read_folder(const std::string& path);

/// What a config.json calls the classes of a classifier (of texts, words or images), in order of
/// their ids; empty where it names none, not all, or another class of model.
std::vector<std::string> class_names(const std::string& config);

/// A store with the folder's weights for the model's variables; strict, as match_weights.
std::shared_ptr<VariableStore> load_weights(const Model& model, Graph& graph, const Folder& folder);

/// Writes config.json and model.safetensors, each as a whole or not at all; makes the folder.
void write_folder(const std::string& path, const Model& model, const Graph& graph,
                  const VariableStore& store);

}  // namespace hf
}  // namespace weft

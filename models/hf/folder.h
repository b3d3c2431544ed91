// Reads and writes Hugging Face transformers model folders: config.json and model.safetensors (or
// its shards, with model.safetensors.index.json).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/graph/engine/variable_store.h"
#include "weft/models/hf/model.h"

namespace WEFT_API weft {
namespace hf {

/// The contents of a model folder. The tensors are views of memory-mapped files.
struct Folder {
  std::string path;
  std::string config;  // the contents of config.json
  TensorMap weights;
};

/// Reads a folder. Throws IoError if a file is missing or if the weights are in PyTorch's native
/// format, and FormatError if a file is invalid.
Folder read_folder(const std::string& path);

/// Returns the label names of a text, token or image classifier from its config.json, in order of
/// their ids. Returns an empty list if some labels have no names or if the model is not a
/// classifier.
std::vector<std::string> class_names(const std::string& config);

/// Returns a store that holds the weights from the folder for the model's variables. Throws in the
/// same cases as match_weights(), and also if a weight is not finite.
std::shared_ptr<VariableStore> load_weights(const Model& model, Graph& graph, const Folder& folder);

/// Writes config.json and model.safetensors, each of them atomically. Creates the folder if
/// necessary.
void write_folder(const std::string& path, const Model& model, const Graph& graph,
                  const VariableStore& store);

}  // namespace hf
}  // namespace weft

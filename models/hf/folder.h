// Reads and writes Hugging Face transformers model folders: config.json and model.safetensors (or
// its shards, with model.safetensors.index.json).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/engine/variable_store.h"
#include "weft/models/fields/model_path.h"
#include "weft/models/hf/model.h"

namespace WEFT_API weft {
namespace hf {

/// The contents of a model folder. The tensors are views of memory-mapped files.
struct Folder {
  std::string path;
  std::string config;  // the contents of config.json, without the ignored keys
  TensorMap weights;
  std::vector<std::string> ignored_keys = {};  // see ModelPath
  /// The folder of a Sentence Transformers model if the transformers model in `path` is a subfolder
  /// of it; otherwise empty.
  std::string parent = {};
  bool verify = false, widen = false;  // see ModelPath

  /// The folder with the files that describe the whole model.
  const std::string& root() const { return parent.empty() ? path : parent; }
  /// Returns the contents of another settings file in `path`, without the ignored keys, or "" if
  /// the folder does not contain it. Throws IoError if it cannot be read, and FormatError if it is
  /// not JSON.
  std::string text(const std::string& name) const;
};

/// Returns true if the path is a folder. Throws ArgumentError if it is not, but has keys to ignore,
/// because only folders contain them.
bool is_folder(const ModelPath& path);

/// Reads a folder. If modules.json places the Transformer module of a Sentence Transformers model
/// in a subfolder ("0_Transformer"), reads that subfolder. Throws IoError if a file is missing or
/// if the weights are in a format that Weft does not read, FormatError if a file is invalid, and
/// ArgumentError if no file contains one of the keys to ignore.
Folder read_folder(const ModelPath& path);

/// Calls `use`. If it throws an error that does not name the folder, the error is rethrown with the
/// path of the folder.
template <class Use>
auto with_folder_name(const std::string& path, Use&& use) {
  try {
    return use();
  } catch (const Error& e) {
    const std::string message = e.what();
    if (message.find(path) != std::string::npos) throw;
    e.rethrow_as(path + ": " + message);
    throw;  // not reached
  }
}

/// A module of a Sentence Transformers model.
struct SentenceModule {
  std::string type;  // "sentence_transformers.models.Pooling"
  std::string path;  // its subfolder: "1_Pooling"; empty for the folder of the model

  /// Returns the name of the class: "Pooling".
  std::string name() const { return type.substr(type.rfind('.') + 1); }
};
/// Returns the entries of modules.json in their order. An entry without a path has the default path
/// of its module, such as "1_Pooling". Throws a FormatError that contains `file` if `text` is not a
/// list of modules or a path leads out of the folder.
std::vector<SentenceModule> sentence_modules(std::string_view text, const std::string& file);

/// Returns the label names of a text, token or image classifier from its config.json, in order of
/// their ids. Returns an empty list if the config contains no names or if the model is not a
/// classifier. Throws a FormatError that names the key and the ids if only some labels have names,
/// or if the keys contradict each other.
std::vector<std::string> class_names(const std::string& config);

/// Returns a store that holds the weights from the folder for the model's variables, as f32. Throws
/// in the same cases as match_weights() and check_weights().
std::shared_ptr<VariableStore> load_weights(const Model& model, Graph& graph, const Folder& folder);

/// Throws DataError if a weight is not finite. Weights of more than 256 MiB in total are checked
/// only if Folder::verify or Folder::widen is set, because mapped weights would have to be read
/// from the disk. Otherwise, commands report that the results of the model are not finite.
void check_weights(const VariableStore& store, const Folder& folder);

/// Writes config.json and model.safetensors, each of them atomically. Creates the folder if
/// necessary.
void write_folder(const std::string& path, const Model& model, const Graph& graph,
                  const VariableStore& store);

}  // namespace hf
}  // namespace weft

// Adapter folders of the PEFT library: adapter_config.json and adapter_model.safetensors, whose
// tensors have names such as "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight".
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weft/graph/ir/program.h"
#include "weft/models/fields/model_path.h"
#include "weft/models/hf/adapters/adapter_config.h"
#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {
namespace hf {

struct Model;

/// Names of parameters, including aliases of tied ones: the name in transformers, and the name of
/// the variable.
using ParameterNames = std::map<std::string, std::string>;
/// Returns the names of the parameters and buffers that are declared in `graph`.
ParameterNames parameter_names(const Model& model, const Graph& graph);

/// Returns true if `path` is a folder that contains adapter_config.json. As in transformers, such a
/// folder describes adapters, even if it also contains a model.
bool is_adapter_folder(const std::string& path);

/// The contents of an adapter folder. The tensors are views of a memory-mapped file.
struct AdapterFolder {
  std::string path;
  AdapterConfig config;
  TensorMap tensors;
  /// The keys to ignore that adapter_config.json does not contain, so that they belong to the base
  /// model.
  std::vector<std::string> base_keys = {};

  /// Returns the path of the base model, if base_model_name_or_path is an existing local path. It
  /// may be relative to the current folder or to the adapter folder. Otherwise, throws an IoError
  /// that explains how to specify the base model.
  ModelPath base() const;
};

/// Reads an adapter folder. Throws IoError if a file is missing or if the adapters are in PyTorch's
/// native format, FormatError if a file is invalid, and the same exceptions as
/// read_adapter_config().
AdapterFolder read_adapter_folder(const ModelPath& path);

/// Returns `base` without the keys to ignore that adapter_config.json in the folder `adapters`
/// contains. `adapters` may also be a file.
ModelPath base_of_adapters(ModelPath base, const std::string& adapters);

/// Matches the tensors of a folder with the matrices and parameters of a model, and widens narrower
/// floats. `programs` must belong to one graph; `names` are the names of its parameters. Tensors of
/// whole parameters that equal those in `store` are left out.
///
/// Throws a FormatError that lists all missing and unexpected tensors, ranks that differ from the
/// config, and tensors that do not fit the model. In its message, `model` describes the model.
TrainedAdapters match_adapters(const AdapterFolder& folder, const ParameterNames& names,
                               const std::vector<Program>& programs, const VariableStore& store,
                               const std::string& model);

/// Returns the name in adapter_model.safetensors of a variable of an adapted model. For a variable
/// that belongs to no adapter, returns its name in transformers.
std::string adapter_tensor_name(std::string_view variable, const Model& model);

/// Adapters in the form of an adapter folder.
struct AdapterExport {
  /// The options; `patterns`, `shapes` and `lookups` are not used.
  LoraOptions options = {};
  LoraShapes shapes = {};      // of all adapters, by module name
  LoraAdapters adapters = {};  // keyed by module name
  /// Parameters that are stored as a whole, by parameter name.
  TensorMap parameters = {};
  /// The names of all parameters of the class, and of its modules with a matrix.
  std::vector<std::string> class_parameters = {}, linear_modules = {};
  std::string architecture = {};  // the class: "LlamaForCausalLM"
  bool transposed = false;        // matrices are stored as [inputs, outputs]
};

/// The text of adapter_config.json and the tensors of adapter_model.safetensors.
struct AdapterFiles {
  std::string config;
  TensorMap tensors;
};
AdapterFiles adapter_files(const AdapterExport& adapters);

inline constexpr const char* kAdapterConfigFile = "adapter_config.json";
inline constexpr const char* kAdapterTensorsFile = "adapter_model.safetensors";

}  // namespace hf
}  // namespace weft

#include "weft/models/tasks/adapted_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "weft/core/error.h"
#include "weft/graph/weights/matrices.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/hf/adapters/adapter_folder.h"
#include "weft/models/hf/folder_target.h"
#include "weft/models/training/adapters.h"
#include "weft/models/training/lora_file.h"
#include "weft/serialization/files/atomic_folder.h"
#include "weft/serialization/match_tensors.h"
#include "weft/serialization/safetensors.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

/// Returns the programs that do not train. In the others, gradients read the matrices as well.
std::vector<Program> forward_programs(const TrainedModel& model) {
  return without_training(model)->all_programs();
}

/// Returns the parameters and buffers of the model without adapters, as f32 tensors by name.
/// Tensors that are quantised or not initialised yet have no meaningful values. `values` replace
/// others.
TensorMap base_tensors(const TrainedModel& model, const TensorMap& values) {
  TensorMap tensors;
  std::set<std::string> stored;  // variables that store quantised matrices
  for (const QuantizedRead& read : quantized_reads(*model.graph)) {
    for (const std::string& name : stored_names(read.name, read.weight.format)) stored.insert(name);
    tensors[read.name] = Tensor::empty(DType::f32, read.weight.shape().evaluate({}));
  }
  for (const Variable& variable : weight_variables(*model.graph)) {
    const std::string& name = variable.name();
    if (stored.contains(name) || is_adapter_variable(name)) continue;
    tensors[name] = model.store->contains(name)
                        ? model.store->tensor(name)
                        : Tensor::zeros(variable.dtype(), variable.info().type.shape.evaluate({}));
  }
  for (const auto& [name, value] : values) tensors[name] = value;
  return tensors;
}

/// The transformers class of a model, and the correspondence of its parameters.
struct LibraryClass {
  hf::ExportedModel exported;
  hf::ParameterNames names;
  /// Parameters of the model that the class contains only in converted form, or not at all.
  std::set<std::string> converted = {};
};

LibraryClass library_class(const TrainedModel& model, const Task& task,
                           const TensorMap& values = {}) {
  FolderModel folder = task.to_folder(model);
  const TensorMap tensors = base_tensors(model, values);
  folder.library.weights = folder.weights ? folder.weights(tensors) : tensors;
  LibraryClass result{
      hf::export_model(folder.library,
                       model.origin ? model.origin->text("config.json") : std::string()),
      {}};
  // Conversions keep the tensors of most parameters, so that these identify the parameters.
  std::map<const std::byte*, std::string> ours;
  for (const auto& [name, tensor] : tensors) ours.emplace(tensor.raw(), name);
  for (const auto* weights : {&result.exported.weights, &result.exported.tied}) {
    for (const auto& [theirs, tensor] : *weights) {
      if (const auto found = ours.find(tensor.raw()); found != ours.end())
        result.names.emplace(theirs, found->second);
    }
  }
  std::set<std::string> kept;
  for (const auto& [theirs, name] : result.names) kept.insert(name);
  for (const auto& [name, tensor] : tensors) {
    if (!kept.contains(name)) result.converted.insert(name);
  }
  return result;
}

/// Builds the adapter folder of a model.
class AdapterWriter {
 public:
  AdapterWriter(const TrainedModel& model, const Task& task)
      : model_(model), values_(lora_adapters(model)), class_(library_class(model, task)) {
    for (WeightMatrix& matrix : weight_matrices(*model.graph, forward_programs(model),
                                                {.embeddings = true, .quantized = true}))
      matrices_.emplace(matrix.name, std::move(matrix));
    std::set<std::string> whole = whole_parameters();
    TensorMap trained;
    for (const std::string& name : whole) trained[name] = merged(name);
    if (!whole.empty()) class_ = library_class(model, task, trained);
    fill(whole);
  }

  const hf::AdapterExport& adapters() const { return export_; }
  const LibraryClass& library() const { return class_; }

 private:
  /// Returns the parameters that are stored as a whole: those that were trained without adapters,
  /// and the heads that PEFT requires for the task type.
  std::set<std::string> whole_parameters() const {
    std::set<std::string> names;
    for (const Variable& variable : model_.graph->parameters()) {
      if (!is_adapter_variable(variable.name())) names.insert(variable.name());
    }
    hf::AdapterConfig config;
    config.task_type = hf::adapter_task_type(class_.exported.architecture);
    for (const auto& [theirs, ours] : class_.names) {
      if (config.is_saved_head(theirs)) names.insert(ours);
    }
    return names;
  }

  /// Returns a parameter with its own adapter, if any, merged into it.
  Tensor merged(const std::string& name) const {
    const bool quantized = quantized_weights(*model_.graph).contains(name);
    const QuantizedModel floats =
        quantized ? dequantize(forward_programs(model_), *model_.store, {name}) : QuantizedModel();
    const Tensor value = (quantized ? *floats.store : *model_.store).tensor(name);
    const auto adapter = values_.adapters.find(name);
    if (adapter == values_.adapters.end()) return value;
    return merged_lora(value, matrices_.at(name).out_in, adapter->second,
                       values_.scale_of(adapter->second));
  }

  /// Returns the module of an adapter in the transformers class.
  std::string module(const std::string& ours, bool lookup) const {
    const auto in = [&](const TensorMap& weights, bool of_head) -> std::string {
      for (const auto& [theirs, tensor] : weights) {
        const auto found = class_.names.find(theirs);
        if (found == class_.names.end() || found->second != ours || !theirs.ends_with(".weight"))
          continue;
        if (!of_head || !theirs.ends_with("embed_tokens.weight"))
          return theirs.substr(0, theirs.rfind('.'));
      }
      return {};
    };
    // The further names of a table are those of layers that share it.
    const auto matrix = matrices_.find(ours);
    const bool tied = !lookup && matrix != matrices_.end() && matrix->second.looked_up;
    std::string name = tied ? in(class_.exported.tied, true) : in(class_.exported.weights, false);
    if (name.empty()) {
      throw ArgumentError(fmt::format("the adapter of {} cannot be written: {} has no such module",
                                      ours, class_.exported.architecture));
    }
    return name;
  }

  void fill(const std::set<std::string>& whole) {
    const LoraOptions& options = *model_.lora;
    export_.options = options;
    export_.architecture = class_.exported.architecture;
    export_.adapters.scale = values_.scale;
    const auto add = [&](const auto& from, auto& to, bool lookup) {
      for (const auto& [name, adapter] : from) {
        if (whole.contains(name)) continue;
        const std::string theirs = module(name, lookup);
        to.emplace(theirs, adapter);
        export_.shapes.emplace(theirs, lookup ? options.lookups.at(name) : options.shape(name));
        const auto matrix = matrices_.find(name);
        export_.transposed |= !lookup && matrix != matrices_.end() && !matrix->second.out_in;
      }
    };
    add(values_.adapters, export_.adapters.adapters, false);
    add(values_.lookups, export_.adapters.lookups, true);
    bool converted = false;
    for (const std::string& name : whole) converted |= class_.converted.contains(name);
    for (const auto& [theirs, tensor] : class_.exported.weights) {
      export_.class_parameters.push_back(theirs);
      if (theirs.ends_with(".weight") && tensor.rank() == 2)
        export_.linear_modules.push_back(theirs.substr(0, theirs.rfind('.')));
      const auto ours = class_.names.find(theirs);
      if (ours == class_.names.end() ? converted : whole.contains(ours->second))
        export_.parameters[theirs] = tensor;
    }
  }

  const TrainedModel& model_;
  LoraAdapters values_;
  LibraryClass class_;
  std::map<std::string, WeightMatrix> matrices_;
  hf::AdapterExport export_;
};

/// Returns the adapters in an adapter file with the options that they need.
TrainedAdapters read_adapter_file(const std::string& path, const TrainedModel& model) {
  TrainedAdapters result;
  result.values = load_lora(path);
  const LoraAdapters& values = result.values;
  std::string base;
  try {
    base = adapters_base(values, *model.store);
  } catch (const Error&) {
    // The model lacks some of the matrices or stores them in a different precision.
  }
  if (!values.base.empty() && base != values.base) {
    throw DataError(fmt::format(
        "the adapters in {} were not trained on the weights of this model, or not in this "
        "precision: pass the model that they were trained on",
        path));
  }
  const auto shape = [&](const LoraAdapters::Adapter& adapter) {
    const std::int64_t rank = adapter.a.rank() == 2 ? adapter.a.size(0) : 1;
    return LoraShape{rank, values.scale_of(adapter) * static_cast<double>(rank)};
  };
  if (!values.adapters.empty()) {
    const LoraShape first = shape(values.adapters.begin()->second);
    result.options.rank = first.rank;
    result.options.alpha = first.alpha;
  }
  for (const auto& [name, adapter] : values.adapters) {
    const LoraShape own = shape(adapter);
    if (own != LoraShape{result.options.rank, result.options.alpha})
      result.options.shapes.emplace(name, own);
  }
  for (const auto& [name, adapter] : values.lookups)
    result.options.lookups.emplace(name, shape(adapter));
  return result;
}

}  // namespace

TrainedAdapters read_adapters(const ModelPath& path, const TrainedModel& model, const Task& task) {
  if (!fs::is_directory(path.path)) return read_adapter_file(path, model);
  const hf::AdapterFolder folder = hf::read_adapter_folder(path);
  const LibraryClass known = library_class(model, task);
  return hf::match_adapters(folder, known.names, forward_programs(model), *model.store,
                            fmt::format("the model, a {}", known.exported.architecture));
}

FolderReport write_adapter_folder(const std::string& path, const TrainedModel& model,
                                  const Task& task, const std::string& base,
                                  const FolderOptions& options) {
  if (!model.lora) throw ArgumentError("the model has no adapters");
  hf::check_folder_target(path, options.force);
  const AdapterWriter writer(model, task);
  hf::AdapterExport adapters = writer.adapters();
  if (!base.empty()) adapters.options.base_model = base;
  const hf::AdapterFiles files = hf::adapter_files(adapters);
  // Reading the files back finds inconsistencies before an existing folder is replaced.
  const hf::AdapterFolder written{
      path, hf::read_adapter_config(files.config, hf::kAdapterConfigFile), files.tensors};
  if (writer.library().converted.empty()) {
    static_cast<void>(hf::match_adapters(written, writer.library().names, forward_programs(model),
                                         *model.store, adapters.architecture));
  }
  AtomicFolder target(path);
  target.write(hf::kAdapterConfigFile, files.config);
  write_safetensors((fs::path(target.place()) / hf::kAdapterTensorsFile).string(), files.tensors,
                    {{"format", "pt"}});
  target.commit();
  FolderReport report{.architecture = adapters.architecture, .notes = {}};
  const std::string& name = adapters.options.base_model;
  if (name.empty()) {
    report.notes.push_back(
        "base_model_name_or_path is null: --base sets the path or name of the base model");
  } else if (name.ends_with(".weft")) {
    report.notes.push_back(fmt::format(
        "base_model_name_or_path is {}, which PEFT cannot read: convert that file to a folder, and "
        "set its path with --base",
        name));
  }
  return report;
}

}  // namespace weft

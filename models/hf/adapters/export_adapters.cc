// Adapters of a model in the form of an adapter folder.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "weft/models/hf/adapters/adapter_folder.h"

namespace weft::hf {
namespace {

std::string last_component(const std::string& module) {
  return module.substr(module.rfind('.') + 1);
}

/// Returns the shortest names that select exactly the adapted modules: the last component of the
/// names if all linear modules with this component are adapted, otherwise the full names.
std::vector<std::string> target_names(const AdapterExport& adapters) {
  std::map<std::string, std::set<std::string>> modules;  // by last component
  for (const std::string& module : adapters.linear_modules) {
    if (!adapters.parameters.contains(module + ".weight"))
      modules[last_component(module)].insert(module);
  }
  std::map<std::string, std::set<std::string>> adapted;
  for (const auto& [module, shape] : adapters.shapes)
    adapted[last_component(module)].insert(module);
  std::vector<std::string> names;
  for (const auto& [last, own] : adapted) {
    if (modules[last] == own) {
      names.push_back(last);
    } else {
      names.insert(names.end(), own.begin(), own.end());
    }
  }
  return names;
}

/// Returns the most frequent shape.
LoraShape usual_shape(const LoraShapes& shapes) {
  LoraShape best;
  std::ptrdiff_t most = 0;
  for (const auto& [module, shape] : shapes) {
    const auto count = std::count_if(shapes.begin(), shapes.end(),
                                     [&](const auto& other) { return other.second == shape; });
    if (count > most) {
      most = count;
      best = shape;
    }
  }
  return best;
}

bool is_within(const std::string& parameter, const std::string& module) {
  return parameter.starts_with(module + ".");
}

/// Returns the modules that contain exactly the whole parameters: for each of these, the outermost
/// module without other parameters of the class.
std::vector<std::string> saved_modules(const AdapterExport& adapters) {
  std::set<std::string> modules;
  for (const auto& [name, tensor] : adapters.parameters) {
    for (std::size_t dot = name.find('.'); dot != std::string::npos;
         dot = name.find('.', dot + 1)) {
      const std::string module = name.substr(0, dot);
      const bool whole = std::all_of(
          adapters.class_parameters.begin(), adapters.class_parameters.end(),
          [&](const std::string& parameter) {
            return !is_within(parameter, module) || adapters.parameters.contains(parameter);
          });
      if (!whole) continue;
      modules.insert(module);
      break;
    }
  }
  return {modules.begin(), modules.end()};
}

}  // namespace

AdapterFiles adapter_files(const AdapterExport& adapters) {
  AdapterConfig config;
  config.options = adapters.options;
  const LoraShape usual = usual_shape(adapters.shapes);
  config.options.rank = usual.rank;
  config.options.alpha = usual.alpha;
  config.target = ModulePattern{.names = target_names(adapters)};
  config.task_type = adapter_task_type(adapters.architecture);
  config.modules_to_save = saved_modules(adapters);
  for (const auto& [module, shape] : adapters.shapes) {
    const std::string pattern = "^" + module;
    if (shape.rank != usual.rank)
      config.ranks.push_back({pattern, shape.rank, module_regex(pattern)});
    if (shape.alpha != usual.alpha)
      config.alphas.push_back({pattern, shape.alpha, module_regex(pattern)});
  }
  AdapterFiles files;
  const std::string front = "base_model.model.";
  for (const auto& [module, adapter] : adapters.adapters.adapters) {
    files.tensors[front + module + ".lora_A.weight"] = adapter.a;
    files.tensors[front + module + ".lora_B.weight"] = adapter.b;
  }
  for (const auto& [module, adapter] : adapters.adapters.lookups) {
    files.tensors[front + module + ".lora_embedding_A"] = adapter.a;
    files.tensors[front + module + ".lora_embedding_B"] = adapter.b;
  }
  bool biases = false, other_biases = false;
  for (const auto& [name, tensor] : adapters.parameters) {
    const std::string module = name.substr(0, name.rfind('.'));
    const bool adapted = adapters.shapes.contains(module);
    const bool saved = config.saves(module);
    // The parameters of an adapted module belong to its base layer.
    files.tensors[front + (adapted ? module + ".base_layer" + name.substr(module.size()) : name)] =
        tensor;
    biases |= adapted && name.ends_with(".bias");
    other_biases |= !adapted && !saved && name.ends_with(".bias");
  }
  if (biases || other_biases) config.bias = other_biases ? "all" : "lora_only";
  files.config = adapter_config_json(config, adapters.transposed);
  return files;
}

}  // namespace weft::hf

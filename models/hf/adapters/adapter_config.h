// adapter_config.json of the PEFT library: which modules have low-rank adapters, and their ranks
// and scales.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/graph/weights/lora.h"
#include "weft/models/text/unicode/regex.h"

namespace WEFT_API weft {
namespace hf {

/// Selects modules by their dotted names, either by a list of names (a module matches if its name
/// is in the list or ends with a dot and a listed name) or by a regular expression that must match
/// the whole name.
struct ModulePattern {
  std::vector<std::string> names = {};
  std::optional<Regex> regex = {};

  bool empty() const { return names.empty() && !regex; }
  bool matches(std::string_view module) const;
};

/// A value for the modules for which a regular expression matches the name, or the part of the
/// name after any dot. If several match, the first value applies.
template <class T>
struct PatternValue {
  std::string pattern;
  T value;
  Regex regex;
};
template <class T>
using PatternValues = std::vector<PatternValue<T>>;

/// Compiles the regular expression of a PatternValue. Throws FormatError if it is invalid.
Regex module_regex(const std::string& pattern);

/// The settings of an adapter folder.
struct AdapterConfig {
  /// rank, alpha, dropout, rank_stabilised and base_model ("r", "lora_alpha", "lora_dropout",
  /// "use_rslora" and "base_model_name_or_path"). The other fields keep their defaults.
  LoraOptions options = {};
  /// The modules with adapters. Empty if the tensors determine them: target_modules is null or
  /// "all-linear".
  std::optional<ModulePattern> target = {};
  ModulePattern exclude = {};
  std::vector<std::int64_t> layers = {};          // layers_to_transform; empty = all layers
  std::vector<Regex> layers_pattern = {};         // names of the lists of layers
  std::vector<std::string> modules_to_save = {};  // modules that are stored as a whole
  PatternValues<std::int64_t> ranks = {};         // rank_pattern
  PatternValues<double> alphas = {};              // alpha_pattern
  std::string bias = "none";                      // "none", "all" or "lora_only"
  std::string task_type = {};                     // "CAUSAL_LM", ...; may be empty
  bool ties_embeddings = false;                   // ensure_weight_tying

  /// Returns true if the config selects a module for an adapter. The result is meaningful only if
  /// `target` is set.
  bool targets(std::string_view module) const;
  /// Returns true if the module is stored as a whole, because its name or the name of a module that
  /// contains it ends with an entry of modules_to_save.
  bool saves(std::string_view module) const;
  /// Returns true if the module belongs to the head that PEFT stores as a whole for this task type,
  /// even if modules_to_save does not name it.
  bool is_saved_head(std::string_view module) const;
  /// Returns the rank and alpha of the adapter of a module.
  LoraShape shape(std::string_view module) const;
};

/// Parses the contents of adapter_config.json; `file` is its name in messages. Keys that do not
/// affect the results of trained adapters are ignored. Throws ArgumentError, naming the key, if a
/// setting is not supported (for example, use_dora) or if the key is unknown, and FormatError if a
/// value has the wrong type.
AdapterConfig read_adapter_config(std::string_view text, const std::string& file);

/// Returns the contents of adapter_config.json. `transposed` is the value of fan_in_fan_out.
std::string adapter_config_json(const AdapterConfig& config, bool transposed);

/// Returns the task type of a transformers class, for example "CAUSAL_LM" for "LlamaForCausalLM",
/// or "" if PEFT has none.
std::string adapter_task_type(std::string_view architecture);

}  // namespace hf
}  // namespace weft

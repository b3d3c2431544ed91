#include "weft/models/hf/adapters/adapter_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/hf/config_reader.h"
#include "weft/models/text/unicode/regex.h"

namespace weft::hf {
namespace {

/// A regular expression for a whole module name, or for the part after any dot.
constexpr std::string_view kModuleEnd = "^(?:.*\\.)?(?:{})$";

bool found_in(const Regex& regex, std::string_view text) {
  return Regex::Matches(regex, text).next();
}

bool has_ending(std::string_view module, std::string_view name) {
  return module == name || (module.size() > name.size() && module.ends_with(name) &&
                            module[module.size() - name.size() - 1] == '.');
}

std::vector<std::string_view> components(std::string_view module) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= module.size();) {
    const std::size_t end = std::min(module.find('.', begin), module.size());
    parts.push_back(module.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// Returns the index of the layer that contains a module: the first numeric component of its name
/// that follows a list of layers (the name of the list is the second component or later). With
/// patterns, the name of the list must match one of them. Returns -1 if there is no such component.
std::int64_t layer_index(std::string_view module, const std::vector<Regex>& patterns) {
  const std::vector<std::string_view> parts = components(module);
  std::size_t before = 0;  // length of the name before the component
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const std::string_view part = parts[i];
    const bool number =
        !part.empty() && part.size() < 10 && std::all_of(part.begin(), part.end(), [](char c) {
          return std::isdigit(static_cast<unsigned char>(c)) != 0;
        });
    const std::string_view list = module.substr(0, before == 0 ? 0 : before - 1);
    const bool fits = patterns.empty()
                          ? i >= 2
                          : std::any_of(patterns.begin(), patterns.end(),
                                        [&](const Regex& regex) { return found_in(regex, list); });
    if (number && fits) return std::stoll(std::string(part));
    before += part.size() + 1;
  }
  return -1;
}

/// Returns the value of the first pattern that matches the module.
template <class T>
T value_for(const PatternValues<T>& values, std::string_view module, T usual) {
  for (const PatternValue<T>& value : values) {
    if (found_in(value.regex, module)) return value.value;
  }
  return usual;
}

/// Returns true if the name of the module, or of a module that contains it, ends with one of the
/// names. PEFT compares the ends without regard to dots: "classifier" also selects DistilBERT's
/// "pre_classifier".
bool is_saved_by(const std::vector<std::string>& names, std::string_view module) {
  for (std::size_t end = module.size(); end != std::string_view::npos;
       end = end == 0 ? std::string_view::npos : module.rfind('.', end - 1)) {
    for (const std::string& name : names) {
      if (module.substr(0, end).ends_with(name)) return true;
    }
  }
  return false;
}

/// Reads the keys of one file.
class AdapterKeys {
 public:
  AdapterKeys(std::string_view text, const std::string& file)
      : file_(file), reader_(text, file), ordered_(nlohmann::ordered_json::parse(text)) {}

  AdapterConfig read() {
    if (const json* type = reader_.find("peft_type"); type == nullptr || *type != "LORA") {
      throw ArgumentError(fmt::format("{}: peft_type is {}: only \"LORA\" is supported", file_,
                                      type == nullptr ? "missing" : json_excerpt(*type)));
    }
    AdapterConfig config;
    LoraOptions& options = config.options;
    options.alpha = options.rank = 8;
    reader_.field("r", options.rank)
        .field("lora_alpha", options.alpha)
        .field("lora_dropout", options.dropout)
        .field("use_rslora", options.rank_stabilised)
        .field("base_model_name_or_path", options.base_model)
        .field("bias", config.bias)
        .field("task_type", config.task_type)
        .field("ensure_weight_tying", config.ties_embeddings);
    check_shape("r", options.rank, "lora_alpha", options.alpha);
    if (!(options.dropout >= 0 && options.dropout < 1))
      fail("lora_dropout", "the dropout rate must be in [0, 1)");
    if (config.bias != "none" && config.bias != "all" && config.bias != "lora_only")
      fail("bias", "it must be \"none\", \"all\" or \"lora_only\"");
    const std::string all = reader_.text("target_modules");
    ModulePattern target;
    if (lower(all) != "all-linear") target = pattern("target_modules");
    reader_.ignore({"target_modules"});
    if (!target.empty()) config.target = std::move(target);
    config.exclude = pattern("exclude_modules");
    config.layers = integers("layers_to_transform");
    for (const std::string& text : texts("layers_pattern"))
      config.layers_pattern.push_back(compiled("layers_pattern", text, "^.*\\.(?:{})$"));
    if (config.target && config.target->regex &&
        !(config.layers.empty() && config.layers_pattern.empty()))
      fail("target_modules",
           "a regular expression cannot be combined with layers_to_transform or "
           "layers_pattern");
    config.modules_to_save = texts("modules_to_save");
    read_patterns("rank_pattern", config.ranks);
    read_patterns("alpha_pattern", config.alphas);
    for (const auto& rank : config.ranks)
      check_shape("rank_pattern", rank.value, "lora_alpha", options.alpha);
    for (const auto& alpha : config.alphas)
      check_shape("r", options.rank, "alpha_pattern", alpha.value);
    reject();
    reader_.finish("the adapters");
    return config;
  }

 private:
  [[noreturn]] void fail(const char* key, std::string_view why) {
    const json* value = reader_.find(key);
    throw ArgumentError(fmt::format("{}: {} is {}: {}", file_, key,
                                    value == nullptr ? "missing" : json_excerpt(*value), why));
  }

  static std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  }

  void check_shape(const char* rank_key, std::int64_t rank, const char* alpha_key, double alpha) {
    if (rank < 1) fail(rank_key, "a rank must be at least 1");
    if (!(alpha > 0 && std::isfinite(alpha))) fail(alpha_key, "an alpha must be positive");
  }

  /// Returns true for values that switch a feature off.
  static bool is_off(const json* value) {
    return value == nullptr || *value == false ||
           ((value->is_array() || value->is_object()) && value->empty());
  }

  /// Returns a list of strings, or one string.
  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> result;
    const json* value = reader_.find(key);
    if (value == nullptr) return result;
    if (value->is_string()) return {value->get<std::string>()};
    if (!value->is_array()) fail(key, "it must be a string or a list of strings");
    for (const json& entry : *value) {
      if (!entry.is_string()) fail(key, "it must be a string or a list of strings");
      result.push_back(entry.get<std::string>());
    }
    return result;
  }

  std::vector<std::int64_t> integers(const char* key) {
    std::vector<std::int64_t> result;
    const json* value = reader_.find(key);
    if (value == nullptr) return result;
    for (const json& entry : value->is_array() ? *value : json::array({*value}))
      read_json(entry, key, result.emplace_back());
    return result;
  }

  ModulePattern pattern(const char* key) {
    const json* value = reader_.find(key);
    ModulePattern result;
    if (value != nullptr && value->is_string()) {
      result.regex = compiled(key, value->get<std::string>(), "^(?:{})$");
    } else {
      result.names = texts(key);
    }
    return result;
  }

  /// The order of the entries matters: the first match applies.
  template <class T>
  void read_patterns(const char* key, PatternValues<T>& values) {
    const json* value = reader_.find(key);
    if (value == nullptr) return;
    if (!value->is_object()) fail(key, "it must be an object");
    for (const auto& [name, unused] : ordered_[key].items()) {
      T number = {};
      read_json((*value)[name], fmt::format("{}.{}", key, name), number);
      values.push_back({name, number, compiled(key, name, kModuleEnd)});
    }
  }

  /// Compiles `form` with the regular expression of a key.
  Regex compiled(const char* key, const std::string& text, std::string_view form) {
    try {
      static_cast<void>(Regex(text));
      return Regex(fmt::format(fmt::runtime(form), text));
    } catch (const FormatError& e) {
      throw ArgumentError(
          fmt::format("{}: {} contains {}, which is not a supported regular expression: {}", file_,
                      key, excerpt(text), e.what()));
    }
  }

  /// Rejects unsupported features, and accepts the keys that do not affect trained adapters.
  void reject() {
    constexpr std::array<std::pair<const char*, const char*>, 14> kUnsupported = {{
        {"use_dora", "DoRA (weight-decomposed adapters) is not supported"},
        {"lora_bias", "adapters with a bias are not supported"},
        {"use_qalora", "QA-LoRA is not supported"},
        {"use_bdlora", "block-diagonal adapters are not supported"},
        {"alora_invocation_tokens", "activated adapters (aLoRA) are not supported"},
        {"arrow_config", "Arrow routing is not supported"},
        {"kasa_config", "KaSA changes the base weights, which is not supported"},
        {"monteclora_config", "Monte Carlo sampling of adapters is not supported"},
        {"velora_config", "VeLoRA is not supported"},
        {"layer_replication", "replicated layers are not supported"},
        {"target_parameters", "adapters of single parameters (experts) are not supported"},
        {"trainable_token_indices", "training single rows of the embeddings is not supported"},
        {"enable_lora", "adapters of parts of a matrix are not supported"},
        {"megatron_config", "parallel layers of Megatron are not supported"},
    }};
    for (const auto& [key, why] : kUnsupported) {
      if (!is_off(reader_.find(key))) fail(key, why);
    }
    check_initialisation();
    reader_.ignore({"arrow_model", "auto_mapping", "corda_config", "eva_config",
                    // The layout of A and B does not depend on the layout of the matrix.
                    "fan_in_fan_out", "inference_mode", "loftq_config", "lora_ga_config",
                    "megatron_core", "merge_weights", "peft_version", "qalora_group_size",
                    "revision", "runtime_config"});
  }

  /// Several initialisations subtract the initial adapters from the base weights, so that the
  /// adapters fit only the changed weights.
  void check_initialisation() {
    const json* value = reader_.find("init_lora_weights");
    if (value == nullptr || value->is_boolean()) return;
    constexpr std::array<std::string_view, 5> kKeepBase = {"gaussian", "eva", "orthogonal", "true",
                                                           "false"};
    if (value->is_string() && std::find(kKeepBase.begin(), kKeepBase.end(),
                                        lower(value->get<std::string>())) != kKeepBase.end())
      return;
    fail("init_lora_weights",
         "this initialisation changes the base weights or the training of the adapters; convert "
         "the adapters with save_pretrained(..., path_initial_model_for_weight_conversion=...) of "
         "PEFT");
  }

  std::string file_;
  ConfigReader reader_;
  nlohmann::ordered_json ordered_;
};

}  // namespace

Regex module_regex(const std::string& pattern) {
  return Regex(fmt::format(fmt::runtime(kModuleEnd), pattern));
}

bool ModulePattern::matches(std::string_view module) const {
  if (regex) return found_in(*regex, module);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return has_ending(module, name); });
}

bool AdapterConfig::targets(std::string_view module) const {
  if (!target || exclude.matches(module) || saves(module) || is_saved_head(module)) return false;
  if (!target->matches(module)) return false;
  const auto& names = target->names;
  const bool exact = std::find(names.begin(), names.end(), module) != names.end();
  if (layers.empty() || exact) return true;
  const std::int64_t index = layer_index(module, layers_pattern);
  return std::find(layers.begin(), layers.end(), index) != layers.end();
}

bool AdapterConfig::saves(std::string_view module) const {
  return is_saved_by(modules_to_save, module);
}

bool AdapterConfig::is_saved_head(std::string_view module) const {
  if (task_type == "SEQ_CLS" || task_type == "TOKEN_CLS")
    return is_saved_by({"classifier", "score"}, module);
  return task_type == "QUESTION_ANS" && is_saved_by({"qa_outputs"}, module);
}

LoraShape AdapterConfig::shape(std::string_view module) const {
  return {value_for(ranks, module, options.rank), value_for(alphas, module, options.alpha)};
}

AdapterConfig read_adapter_config(std::string_view text, const std::string& file) {
  static_cast<void>(parse_json_object(text, file));  // strict: rejects duplicate keys
  return AdapterKeys(text, file).read();
}

std::string adapter_config_json(const AdapterConfig& config, bool transposed) {
  const LoraOptions& options = config.options;
  // PEFT declares alpha as an integer.
  const auto alpha = [](double value) -> json {
    if (value == std::floor(value) && std::abs(value) < 1e15)
      return static_cast<std::int64_t>(value);
    return value;
  };
  const auto text = [](const std::string& value) -> json {
    return value.empty() ? json(nullptr) : json(value);
  };
  json object = {{"alpha_pattern", json::object()},
                 {"auto_mapping", nullptr},
                 {"base_model_name_or_path", text(options.base_model)},
                 {"bias", config.bias},
                 {"fan_in_fan_out", transposed},
                 {"inference_mode", true},
                 {"init_lora_weights", true},
                 {"layers_pattern", nullptr},
                 {"layers_to_transform", nullptr},
                 {"lora_alpha", alpha(options.alpha)},
                 {"lora_dropout", options.dropout},
                 {"modules_to_save", nullptr},
                 {"peft_type", "LORA"},
                 {"r", options.rank},
                 {"rank_pattern", json::object()},
                 {"revision", nullptr},
                 {"target_modules", config.target.value_or(ModulePattern{}).names},
                 {"task_type", text(config.task_type)},
                 {"use_dora", false},
                 {"use_rslora", options.rank_stabilised}};
  for (const auto& rank : config.ranks) object["rank_pattern"][rank.pattern] = rank.value;
  for (const auto& value : config.alphas)
    object["alpha_pattern"][value.pattern] = alpha(value.value);
  if (!config.modules_to_save.empty()) object["modules_to_save"] = config.modules_to_save;
  return object.dump(2) + "\n";
}

std::string adapter_task_type(std::string_view architecture) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kTypes = {
      {{"ForCausalLM", "CAUSAL_LM"},
       {"LMHeadModel", "CAUSAL_LM"},
       {"ForConditionalGeneration", "SEQ_2_SEQ_LM"},
       {"MTModel", "SEQ_2_SEQ_LM"},
       {"ForSequenceClassification", "SEQ_CLS"},
       {"ForTokenClassification", "TOKEN_CLS"},
       {"ForQuestionAnswering", "QUESTION_ANS"},
       {"EncoderModel", "FEATURE_EXTRACTION"},
       {"Model", "FEATURE_EXTRACTION"}}};
  for (const auto& [end, type] : kTypes) {
    if (architecture.ends_with(end)) return std::string(type);
  }
  return {};
}

}  // namespace weft::hf

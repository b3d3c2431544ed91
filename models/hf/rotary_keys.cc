#include "weft/models/hf/rotary_keys.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft::hf {

namespace {

/// Returns the settings at `key` with rope_type instead of its older name "type".
json settings_at(ConfigReader& config, const char* key) {
  ConfigReader rotary = config.section(key);
  std::string type;
  rotary.field("rope_type", type).repeated("type", "rope_type", type);
  json settings = rotary.object();
  settings.erase("type");
  if (!type.empty()) settings["rope_type"] = type;
  return settings;
}

/// Joins the settings in rope_scaling and in rope_parameters. Throws ArgumentError if they
/// contradict each other.
json joined_settings(ConfigReader& config, std::string& key) {
  const json older = settings_at(config, "rope_scaling");
  json joined = settings_at(config, "rope_parameters");
  key = older.empty() ? "rope_parameters" : "rope_scaling";
  for (const auto& [name, value] : older.items()) {
    if (const auto found = joined.find(name); found != joined.end() && *found != value) {
      throw ArgumentError(fmt::format(
          "config.json: rope_scaling.{0} is {1}, but rope_parameters.{0} is {2}: specify only one",
          name, json_excerpt(value), json_excerpt(*found)));
    }
    joined[name] = value;
  }
  return joined;
}

/// Reads a number in the settings that may also be a key of the config itself, where its value is
/// already in `value` if the config contains one of the keys `above`.
void read_both(ConfigReader& config, ConfigReader& rotary, std::string_view key, const char* name,
               std::initializer_list<const char*> above, double& value) {
  const double outer = value;
  rotary.field(name, value);
  if (value == outer) return;
  for (const char* other : above) {
    if (config.find(other) == nullptr) continue;
    throw ArgumentError(fmt::format(
        "config.json: {} is {}, but {}.{} is {}: specify only one, or ignore one of them "
        "(--ignore-config-key {})",
        other, outer, key, name, value, other));
  }
}

}  // namespace

void rotary_keys(ConfigReader& config, GptConfig& c, bool partial) {
  constexpr const char* kTrained = "original_max_position_embeddings";
  std::string key;
  const json settings = joined_settings(config, key);
  std::int64_t trained = 0;
  const bool has_trained = config.find(kTrained) != nullptr;
  config.field(kTrained, trained);
  if (settings.empty()) return;  // without scaling, the length of the training texts has no effect
  ConfigReader rotary(settings.dump(), "config.json", key + '.');
  std::string type = "default";
  rotary.field("rope_type", type);
  read_both(config, rotary, key, "rope_theta", {"rope_theta", "rotary_emb_base"}, c.rotary_base);
  if (partial) {
    read_both(config, rotary, key, "partial_rotary_factor", {"rotary_pct", "partial_rotary_factor"},
              c.rotary_share);
  } else {
    rotary.fixed("partial_rotary_factor", 1, "rotary positions must cover all features of a head");
  }
  const auto number = [&](const char* name, auto& value) {
    if (rotary.find(name) == nullptr)
      throw ArgumentError(
          fmt::format("config.json: {} of type \"{}\" requires {}", key, type, name));
    rotary.field(name, value);
  };
  if (type == "linear" || type == "dynamic" || type == "llama3") {
    c.rotary_scaling = parse_choice<RotaryScalingKind>(type);
    number("factor", c.rotary_factor);
    if (type == "dynamic") c.rotary_context = c.context;
    if (type == "llama3") {
      number("low_freq_factor", c.rotary_low_factor);
      number("high_freq_factor", c.rotary_high_factor);
      c.rotary_context = trained;
      if (!has_trained || rotary.find(kTrained) != nullptr) number(kTrained, c.rotary_context);
      if (has_trained && c.rotary_context != trained) {
        throw ArgumentError(fmt::format(
            "config.json: {0} is {1}, but {2}.{0} is {3}: specify only one, or ignore one of them "
            "(--ignore-config-key {0})",
            kTrained, trained, key, c.rotary_context));
      }
    }
  } else if (type != "default") {
    throw ArgumentError(fmt::format(
        "config.json: {} has the type \"{}\"; supported are default, linear, dynamic and llama3",
        key, type));
  }
  rotary.finish("rotary positions");
}

void rotary_keys(ConfigWriter& config, const GptConfig& c, bool) {
  if (c.rotary_scaling == RotaryScalingKind::none) return;
  json scaling = {{"type", choice_name(c.rotary_scaling)},
                  {"rope_type", choice_name(c.rotary_scaling)},
                  {"factor", c.rotary_factor}};
  if (c.rotary_scaling == RotaryScalingKind::llama3) {
    scaling["low_freq_factor"] = c.rotary_low_factor;
    scaling["high_freq_factor"] = c.rotary_high_factor;
    scaling["original_max_position_embeddings"] = c.rotary_context;
  }
  config.field("rope_scaling", scaling);
}

}  // namespace weft::hf

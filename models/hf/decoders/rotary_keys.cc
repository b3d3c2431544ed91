#include "weft/models/hf/decoders/rotary_keys.h"

#include <fmt/format.h>

#include <algorithm>

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
  // Older names of Phi-3's scaling.
  if (type == "su" || (type == "yarn" && settings.contains("short_factor"))) type = "longrope";
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

/// Takes the settings of layers with a window out of `settings`, which then are those of the other
/// layers.
void split_layers(json& settings, const std::string& key, GptConfig& c) {
  constexpr const char* kWindow = "sliding_attention";
  constexpr const char* kFull = "full_attention";
  if (!settings.contains(kFull)) return;
  if (c.rotary_window_base == 0) {
    throw ArgumentError(fmt::format(
        "config.json: {}.{}: this model type has the same rotary positions in all layers", key,
        kFull));
  }
  ConfigReader layers(settings.dump(), "config.json", key + '.');
  layers
      .subsection(
          kWindow,
          [&](ConfigReader& window) {
            window.field("rope_theta", c.rotary_window_base)
                .fixed("rope_type", "default", "layers with a window cannot have scaled positions");
          },
          "rotary positions")
      .ignore({kFull})
      .finish("rotary positions");
  settings = json(settings.at(kFull));
}

/// Sets the fields of scaling to those of positions without scaling.
void reset_scaling(GptConfig& c) {
  const GptConfig usual;
  c.rotary_scaling = usual.rotary_scaling;
  c.rotary_factor = usual.rotary_factor;
  c.rotary_low_factor = usual.rotary_low_factor;
  c.rotary_high_factor = usual.rotary_high_factor;
  c.rotary_attention_factor = usual.rotary_attention_factor;
  c.rotary_beta_fast = usual.rotary_beta_fast;
  c.rotary_beta_slow = usual.rotary_beta_slow;
  c.rotary_truncate = usual.rotary_truncate;
  c.rotary_mscale = c.rotary_mscale_all = 0;
  c.rotary_context = 0;
}

}  // namespace

void rotary_keys(ConfigReader& config, GptConfig& c, bool partial, bool) {
  constexpr const char* kTrained = "original_max_position_embeddings";
  std::string key;
  json settings = joined_settings(config, key);
  std::int64_t trained = c.rotary_context;
  const bool has_trained = config.find(kTrained) != nullptr;
  config.field(kTrained, trained);
  const bool unscaled = config.object().contains("rope_scaling") && key == "rope_parameters";
  if (settings.empty()) {
    // Without scaling, the length of the training texts has no effect.
    if (unscaled) reset_scaling(c);
    return;
  }
  split_layers(settings, key, c);
  reset_scaling(c);
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
  // Reads the context length of the original model, which is `otherwise` if the config lacks it.
  const auto read_context = [&](std::int64_t otherwise) {
    c.rotary_context = trained == 0 ? otherwise : trained;
    rotary.field(kTrained, c.rotary_context);
    if (has_trained && c.rotary_context != trained) {
      throw ArgumentError(fmt::format(
          "config.json: {0} is {1}, but {2}.{0} is {3}: specify only one, or ignore one of them "
          "(--ignore-config-key {0})",
          kTrained, trained, key, c.rotary_context));
    }
  };
  if (type == "default") {
    // Newer files may contain it although only scaling uses it.
    rotary.ignore({kTrained});
  } else if (type == "linear" || type == "dynamic" || type == "llama3" || type == "yarn" ||
             type == "longrope") {
    c.rotary_scaling = parse_choice<RotaryScalingKind>(type);
    if (type != "longrope") number("factor", c.rotary_factor);
    if (type == "dynamic") c.rotary_context = c.context;
    if (type == "llama3") {
      number("low_freq_factor", c.rotary_low_factor);
      number("high_freq_factor", c.rotary_high_factor);
      if (!has_trained) number(kTrained, c.rotary_context);
      read_context(0);
    }
    if (type == "yarn") {
      read_context(c.context);
      rotary.field("attention_factor", c.rotary_attention_factor)
          .field("beta_fast", c.rotary_beta_fast)
          .field("beta_slow", c.rotary_beta_slow)
          .field("truncate", c.rotary_truncate)
          .field("mscale", c.rotary_mscale)
          .field("mscale_all_dim", c.rotary_mscale_all);
      if (c.query_growth > 0) {
        rotary.field("llama_4_scaling_beta", c.query_growth).ignore({"max_position_embeddings"});
        c.query_growth_context = c.rotary_context;
      }
    }
    if (type == "longrope") {
      read_context(c.context);
      number("short_factor", c.rotary_short_factors);
      number("long_factor", c.rotary_long_factors);
      rotary.field("attention_factor", c.rotary_attention_factor).field("factor", c.rotary_factor);
      // If the length of the training texts is known, the factor is the ratio of the lengths.
      if (c.rotary_context != c.context && c.rotary_context > 0)
        c.rotary_factor =
            std::max(1.0, static_cast<double>(c.context) / static_cast<double>(c.rotary_context));
    }
  } else {
    throw ArgumentError(
        fmt::format("config.json: {} has the type \"{}\"; supported are default, linear, dynamic, "
                    "llama3, yarn and longrope",
                    key, type));
  }
  rotary.finish("rotary positions");
}

void rotary_keys(ConfigWriter& config, const GptConfig& c, bool, bool scaled) {
  using enum RotaryScalingKind;
  if (c.rotary_scaling == none) {
    if (scaled) config.field("rope_scaling", json());
    return;
  }
  json scaling = {{"type", choice_name(c.rotary_scaling)},
                  {"rope_type", choice_name(c.rotary_scaling)}};
  if (c.rotary_scaling != longrope) scaling["factor"] = c.rotary_factor;
  if (c.rotary_scaling == llama3) {
    scaling["low_freq_factor"] = c.rotary_low_factor;
    scaling["high_freq_factor"] = c.rotary_high_factor;
  }
  if (c.rotary_scaling == yarn) {
    scaling["beta_fast"] = c.rotary_beta_fast;
    scaling["beta_slow"] = c.rotary_beta_slow;
    scaling["truncate"] = c.rotary_truncate;
    if (c.rotary_mscale != 0) scaling["mscale"] = c.rotary_mscale;
    if (c.rotary_mscale_all != 0) scaling["mscale_all_dim"] = c.rotary_mscale_all;
    if (c.query_growth != 0) scaling["llama_4_scaling_beta"] = c.query_growth;
  }
  if (c.rotary_scaling == longrope) {
    scaling["short_factor"] = c.rotary_short_factors;
    scaling["long_factor"] = c.rotary_long_factors;
    config.field("original_max_position_embeddings", c.rotary_context);
  }
  if (c.rotary_scaling == llama3 || c.rotary_scaling == yarn)
    scaling["original_max_position_embeddings"] = c.rotary_context;
  if (c.rotary_attention_factor != 0) scaling["attention_factor"] = c.rotary_attention_factor;
  config.field("rope_scaling", scaling);
}

}  // namespace weft::hf

#include "weft/models/hf/rotary_keys.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft::hf {

void rotary_keys(ConfigReader& config, GptConfig& c, bool partial) {
  const char* key = "rope_parameters";
  const json* found = config.find(key);
  if (const json* scaling = config.find("rope_scaling")) {
    if (found != nullptr && *found != *scaling)
      throw ArgumentError("config.json: rope_scaling and rope_parameters differ: specify only one");
    key = "rope_scaling";
    found = scaling;
  }
  if (found == nullptr) return;
  ConfigReader rotary(found->dump(), fmt::format("config.json: {}", key));
  // "type" is the older name of "rope_type". If a file has both, "rope_type" takes precedence.
  std::string type = "default";
  rotary.field("type", type).field("rope_type", type).field("rope_theta", c.rotary_base);
  if (partial) rotary.field("partial_rotary_factor", c.rotary_share);
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
      number("original_max_position_embeddings", c.rotary_context);
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

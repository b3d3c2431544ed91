#include "weft/models/families/vit_config.h"

#include <fmt/format.h>

#include <array>

#include "weft/core/error.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/json_fields.h"

namespace weft {
namespace {

using json_fields::json;

constexpr std::array<std::string_view, 2> kPositions = {"learned", "sinusoidal_2d"};
constexpr std::array<std::string_view, 2> kPoolings = {"class_token", "mean"};

/// Every field: the one list that writing and reading share.
const auto kFields = [](auto& c, auto&& visit) {
  visit("image_height", c.image_height);
  visit("image_width", c.image_width);
  visit("patch_height", c.patch_height);
  visit("patch_width", c.patch_width);
  visit("channels", c.channels);
  visit("layers", c.layers);
  visit("heads", c.heads);
  visit("width", c.width);
  visit("inner", c.inner);
  visit("activation", c.activation);
  visit("qkv_bias", c.qkv_bias);
  visit("layer_norm_eps", c.layer_norm_eps);
  visit("positions", c.positions);
  visit("pooling", c.pooling);
  visit("distillation", c.distillation);
  visit("dropout", c.dropout);
  visit("attention_dropout", c.attention_dropout);
  visit("initializer_range", c.initializer_range);
};

}  // namespace

std::string_view field_name(VitPositions p) { return kPositions[static_cast<std::size_t>(p)]; }
std::string_view field_name(VitPooling p) { return kPoolings[static_cast<std::size_t>(p)]; }
void parse_field(std::string_view name, VitPositions& positions) {
  positions = json_fields::parse_choice<VitPositions>(kPositions, name, "positions");
}
void parse_field(std::string_view name, VitPooling& pooling) {
  pooling = json_fields::parse_choice<VitPooling>(kPoolings, name, "pooling");
}

void VitConfig::check() const {
  for (const auto& [name, value] :
       {std::pair<std::string_view, std::int64_t>{"image_height", image_height},
        {"image_width", image_width},
        {"patch_height", patch_height},
        {"patch_width", patch_width},
        {"channels", channels},
        {"layers", layers},
        {"heads", heads},
        {"width", width},
        {"inner", inner}}) {
    if (value < 1) throw ArgumentError(fmt::format("{} must be at least 1, not {}", name, value));
  }
  size_limits::check({{"image_height", image_height, size_limits::kPixels},
                      {"image_width", image_width, size_limits::kPixels},
                      {"channels", channels, size_limits::kPixels},
                      {"layers", layers, size_limits::kLayers},
                      {"heads", heads, size_limits::kHeads},
                      {"width", width, size_limits::kWidth},
                      {"inner", inner, size_limits::kInner}});
  if (image_height < patch_height || image_width < patch_width) {
    throw ArgumentError(fmt::format("an image of {} x {} holds no patch of {} x {}", image_height,
                                    image_width, patch_height, patch_width));
  }
  if (width % heads != 0) {
    throw ArgumentError(fmt::format(
        "width {} is not a multiple of heads {}: every head needs the same size", width, heads));
  }
  if (positions == VitPositions::sinusoidal_2d && width % 4 != 0)
    throw ArgumentError(
        fmt::format("sinusoidal_2d positions need a width that is a multiple of 4, not {}", width));
  if (distillation && pooling != VitPooling::class_token)
    throw ArgumentError("distillation needs a class token: pooling must be class_token");
  for (const auto& [name, value] :
       {std::pair{"dropout", dropout}, {"attention_dropout", attention_dropout}}) {
    if (!(value >= 0 && value < 1))
      throw ArgumentError(fmt::format("{} must be in [0, 1), not {}", name, value));
  }
  if (!(layer_norm_eps > 0))
    throw ArgumentError(fmt::format("layer_norm_eps must be positive, not {}", layer_norm_eps));
  if (!(initializer_range >= 0))
    throw ArgumentError(
        fmt::format("initializer_range must not be negative, not {}", initializer_range));
}

std::string VitConfig::to_json() const {
  auto out = json_fields::write_object(*this, kFields);
  out["family"] = "vit";
  return out.dump();
}

VitConfig VitConfig::from_json(std::string_view text) {
  const json parsed = json_fields::parse_object(text, "the model config");
  if (const json family = parsed.value("family", json()); family != "vit")
    throw FormatError(
        fmt::format("the model config is of family {}, not \"vit\"", json_excerpt(family)));
  VitConfig config;
  json_fields::read_object(parsed, config, kFields, "the model config", "family");
  config.check();
  return config;
}

}  // namespace weft

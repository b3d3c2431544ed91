#include "weft/models/families/vit_config.h"

#include <fmt/format.h>

#include <array>

#include "weft/core/error.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/fields/check.h"

namespace weft {
namespace {

constexpr std::array<std::string_view, 2> kVitPositions = {"learned", "sinusoidal_2d"};
constexpr std::array<std::string_view, 2> kPoolings = {"class_token", "mean"};

}  // namespace

ChoiceNames choice_names(VitPositions) { return {"positions", kVitPositions}; }
ChoiceNames choice_names(VitPooling) { return {"pooling", kPoolings}; }

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
    check::at_least(name, value, 1);
  }
  check::at_most({{"image_height", image_height, size_limits::kPixels},
                  {"image_width", image_width, size_limits::kPixels},
                  {"channels", channels, size_limits::kPixels},
                  {"layers", layers, size_limits::kLayers},
                  {"heads", heads, size_limits::kHeads},
                  {"width", width, size_limits::kWidth},
                  {"inner", inner, size_limits::kInner}});
  if (image_height < patch_height || image_width < patch_width) {
    throw ArgumentError(fmt::format("an image of {} x {} is smaller than a patch of {} x {}",
                                    image_height, image_width, patch_height, patch_width));
  }
  if (width % heads != 0) {
    throw ArgumentError(fmt::format(
        "width {} is not a multiple of heads {}: all heads must have the same size", width, heads));
  }
  if (positions == VitPositions::sinusoidal_2d && width % 4 != 0)
    throw ArgumentError(
        fmt::format("sinusoidal_2d positions need a width that is a multiple of 4, not {}", width));
  if (distillation && pooling != VitPooling::class_token)
    throw ArgumentError("distillation needs a class token: pooling must be class_token");
  check::rate("dropout", dropout);
  check::rate("attention_dropout", attention_dropout);
  check::positive("layer_norm_eps", layer_norm_eps);
  check::not_negative("initializer_range", initializer_range);
}

const FieldList<VitConfig>& VitConfig::fields() {
  static const auto list =
      FieldList<VitConfig>("the model config", "vit")
          .add("image_height", &VitConfig::image_height, "image height in pixels")
          .add("image_width", &VitConfig::image_width, "image width in pixels")
          .add("patch_height", &VitConfig::patch_height,
               "patch height in pixels; partial patches at the edge are ignored")
          .add("patch_width", &VitConfig::patch_width,
               "patch width in pixels; partial patches at the edge are ignored")
          .add("channels", &VitConfig::channels, "number of channels: 1 = grey, 3 = colour")
          .add("layers", &VitConfig::layers, "number of blocks")
          .add("heads", &VitConfig::heads, "attention heads; must divide width")
          .add("width", &VitConfig::width, "width of embeddings and hidden states")
          .add("inner", &VitConfig::inner, "width of the feed-forward block")
          .add("activation", &VitConfig::activation, "activation of the feed-forward block")
          .add("qkv_bias", &VitConfig::qkv_bias, "biases of queries, keys and values")
          .add("layer_norm_eps", &VitConfig::layer_norm_eps, "epsilon of the norms")
          .add("positions", &VitConfig::positions, "position encoding of the patches")
          .add("pooling", &VitConfig::pooling, "how tokens are pooled into one vector per image")
          .add("distillation", &VitConfig::distillation, "add a distillation token (DeiT)")
          .add("dropout", &VitConfig::dropout,
               "dropout on the embeddings and on the outputs of blocks")
          .add("attention_dropout", &VitConfig::attention_dropout,
               "dropout on the attention probabilities")
          .add("initializer_range", &VitConfig::initializer_range,
               "standard deviation of the initial weight matrices");
  return list;
}

std::string VitConfig::to_json() const { return fields().to_json(*this); }

VitConfig VitConfig::from_json(std::string_view text) { return fields().from_json(text); }

}  // namespace weft

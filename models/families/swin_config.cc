#include "weft/models/families/swin_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "weft/core/error.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/fields/check.h"

namespace weft {
namespace {

/// Requires whole numbers between 1 and `most`.
void check_whole(std::string_view name, const std::vector<double>& values, std::int64_t most) {
  for (const double value : values) {
    if (!(value >= 1 && value <= static_cast<double>(most) && value == std::floor(value)))
      throw ArgumentError(fmt::format("{} must be whole numbers from 1 to {}, not {}", name, most,
                                      fmt::join(values, ",")));
  }
}

}  // namespace

std::int64_t SwinConfig::depth(std::int64_t stage) const {
  return static_cast<std::int64_t>(depths.at(static_cast<std::size_t>(stage)));
}

std::int64_t SwinConfig::blocks() const {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < stages(); ++i) count += depth(i);
  return count;
}

VitConfig SwinConfig::stage(std::int64_t stage) const {
  VitConfig c;
  c.width = stage_width(stage);
  c.heads = static_cast<std::int64_t>(heads.at(static_cast<std::size_t>(stage)));
  c.inner = static_cast<std::int64_t>(mlp_ratio * static_cast<double>(c.width));
  c.activation = activation;
  c.qkv_bias = qkv_bias;
  c.layer_norm_eps = layer_norm_eps;
  c.dropout = dropout;
  c.attention_dropout = attention_dropout;
  c.drop_path = drop_path;
  c.initializer_range = initializer_range;
  return c;
}

void SwinConfig::check() const {
  for (const auto& [name, value] :
       {std::pair<std::string_view, std::int64_t>{"image_height", image_height},
        {"image_width", image_width},
        {"patch_height", patch_height},
        {"patch_width", patch_width},
        {"channels", channels},
        {"width", width},
        {"window", window}}) {
    check::at_least(name, value, 1);
  }
  check::at_most({{"image_height", image_height, size_limits::kPixels},
                  {"image_width", image_width, size_limits::kPixels},
                  {"patch_height", patch_height, size_limits::kPixels},
                  {"patch_width", patch_width, size_limits::kPixels},
                  {"channels", channels, size_limits::kPixels},
                  {"width", width, size_limits::kWidth},
                  {"window", window, 64}});
  // Shifted windows need a table of patches x window^2 scores.
  check::at_most({{"number of patches * window^2", rows() * columns() * window * window,
                   std::int64_t{1} << 28}});
  constexpr std::int64_t kStages = 16;
  if (depths.empty() || depths.size() != heads.size() || stages() > kStages) {
    throw ArgumentError(
        fmt::format("depths and heads must have one number for each of 1 to {} stages, not {} and "
                    "{} numbers",
                    kStages, depths.size(), heads.size()));
  }
  check_whole("depths", depths, size_limits::kLayers);
  check_whole("heads", heads, size_limits::kHeads);
  check::at_most({{"blocks in all stages", blocks(), size_limits::kLayers},
                  {"width of the last stage", final_width(), size_limits::kWidth}});
  check::positive("mlp_ratio", mlp_ratio);
  if (!(mlp_ratio * static_cast<double>(width) >= 1 && mlp_ratio <= 1024))
    throw ArgumentError(
        fmt::format("mlp_ratio must be at least 1 / width and at most 1024, not {}", mlp_ratio));
  for (std::int64_t i = 0; i < stages(); ++i) stage(i).check();
}

const FieldList<SwinConfig>& SwinConfig::fields() {
  static const auto list =
      FieldList<SwinConfig>("the model config", "swin")
          .add("image_height", &SwinConfig::image_height, "image height in pixels")
          .add("image_width", &SwinConfig::image_width, "image width in pixels")
          .add("patch_height", &SwinConfig::patch_height,
               "patch height in pixels; images are padded to whole patches")
          .add("patch_width", &SwinConfig::patch_width, "patch width in pixels")
          .add("channels", &SwinConfig::channels, "number of channels: 1 = grey, 3 = colour")
          .add("width", &SwinConfig::width, "width of the first stage; doubles in every other")
          .add("depths", &SwinConfig::depths, "blocks of each stage")
          .add("heads", &SwinConfig::heads, "attention heads of each stage")
          .add("window", &SwinConfig::window, "side of the windows in patches")
          .add("mlp_ratio", &SwinConfig::mlp_ratio,
               "width of the feed-forward blocks / width of the stage")
          .add("activation", &SwinConfig::activation, "activation of the feed-forward blocks")
          .add("qkv_bias", &SwinConfig::qkv_bias, "biases of queries, keys and values")
          .add("positions", &SwinConfig::positions, "add learned embeddings to the patches")
          .add("layer_norm_eps", &SwinConfig::layer_norm_eps, "epsilon of the norms in blocks")
          .add("dropout", &SwinConfig::dropout,
               "dropout on the embeddings and on the outputs of blocks")
          .add("attention_dropout", &SwinConfig::attention_dropout,
               "dropout on the attention probabilities")
          .add("drop_path", &SwinConfig::drop_path,
               "stochastic depth: rate of the last block; increases from 0 in the first")
          .add("initializer_range", &SwinConfig::initializer_range,
               "standard deviation of the initial weight matrices");
  return list;
}

std::string SwinConfig::to_json() const { return fields().to_json(*this); }

SwinConfig SwinConfig::from_json(std::string_view text) { return fields().from_json(text); }

}  // namespace weft

#include "weft/models/families/image_text_config.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "weft/core/error.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/fields/check.h"

namespace weft {
namespace {

constexpr std::array<std::string_view, 3> kTowers = {"both", "text", "image"};
constexpr std::array<std::string_view, 3> kTowerPoolings = {"end_of_text", "largest_id", "last"};
constexpr std::array<std::string_view, 2> kImageTextLosses = {"softmax", "sigmoid"};

/// Calls tower.check(). An error names the tower.
template <class Tower>
void check_tower(const char* name, const Tower& tower) {
  try {
    tower.check();
  } catch (const ArgumentError& e) {
    throw ArgumentError(fmt::format("{} tower: {}", name, e.what()));
  }
}

}  // namespace

ChoiceNames choice_names(ImageTextTowers) { return {"towers", kTowers}; }
ChoiceNames choice_names(TextTowerPooling) { return {"text_pooling", kTowerPoolings}; }
ChoiceNames choice_names(ImageTextLoss) { return {"loss", kImageTextLosses}; }

EncoderConfig clip_text_tower() {
  EncoderConfig text;
  text.vocab = 49408;
  text.context = 77;
  text.token_types = 0;
  text.padding_id = -1;
  text.heads = 8;
  text.width = 512;
  text.inner = 2048;
  text.activation = Activation::quick_gelu;
  text.layer_norm_eps = 1e-5;
  text.norm_first = text.final_norm = text.causal = true;
  text.embedding_norm = false;
  return text;
}

VitConfig clip_image_tower() {
  VitConfig image;
  image.patch_height = image.patch_width = 32;
  image.activation = Activation::quick_gelu;
  image.layer_norm_eps = 1e-5;
  image.patch_bias = image.final_norm = false;
  image.embedding_norm = true;
  return image;
}

void ImageTextConfig::check() const {
  if (has_text()) check_tower("text", text);
  if (has_images()) check_tower("image", image);
  check::at_least("projection", projection, 0);
  check::at_most({{"projection", projection, size_limits::kWidth}});
  check::at_least("end_id", end_id, 0);
  if (has_text() && text_pooling == TextTowerPooling::end_of_text && end_id >= text.vocab) {
    throw ArgumentError(
        fmt::format("end_id {} must be below text_vocab, which is {}", end_id, text.vocab));
  }
  if (towers == ImageTextTowers::both && projection == 0)
    throw ArgumentError("projection must be at least 1: it is the width of all vectors");
  if (towers == ImageTextTowers::both && !image_projection && image.pooled_width() != projection) {
    throw ArgumentError(
        fmt::format("without image_projection, the vectors of images have the width {} of the "
                    "image tower, but projection is {}",
                    image.pooled_width(), projection));
  }
  for (const auto& [name, value] :
       {std::pair{"logit_scale", logit_scale}, {"logit_bias", logit_bias}}) {
    if (!std::isfinite(value) || std::abs(value) > 100)
      throw ArgumentError(fmt::format("{} must be in [-100, 100], not {}", name, value));
  }
}

const FieldList<ImageTextConfig>& ImageTextConfig::fields() {
  static const auto list =
      FieldList<ImageTextConfig>("the model config", "image-text")
          .add("towers", &ImageTextConfig::towers, "the towers of the model")
          .add("text_pooling", &ImageTextConfig::text_pooling, "the token that represents a text")
          .add("end_id", &ImageTextConfig::end_id, "id of the end-of-text token")
          .add("projection", &ImageTextConfig::projection,
               "width of the vectors of images and texts")
          .add("text_projection_bias", &ImageTextConfig::text_projection_bias,
               "bias of the projection of text vectors")
          .add("image_projection", &ImageTextConfig::image_projection,
               "project the vectors of images; otherwise vision-width must equal projection")
          .add("loss", &ImageTextConfig::loss,
               "softmax = choose the matching text and image in each batch (CLIP), sigmoid = "
               "decide for every image and text whether they match (SigLIP)")
          .add("logit_scale", &ImageTextConfig::logit_scale,
               "initial logarithm of the factor of cosines, the inverse temperature")
          .add("logit_bias", &ImageTextConfig::logit_bias,
               "initial bias of scaled cosines, for the sigmoid loss")
          .section("Text tower")
          .nested("text_", &ImageTextConfig::text)
          .section("Image tower")
          .nested("vision_", &ImageTextConfig::image);
  return list;
}

std::string ImageTextConfig::to_json() const { return fields().to_json(*this); }

ImageTextConfig ImageTextConfig::from_json(std::string_view text) {
  return fields().from_json(text);
}

}  // namespace weft

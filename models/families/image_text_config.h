// ImageTextConfig: sizes and options of models that compare images and texts (CLIP, SigLIP).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/models/families/encoder_config.h"
#include "weft/models/families/vit_config.h"

namespace WEFT_API weft {

/// The towers of a model: both, or one alone, as in folders that contain only an image encoder.
enum class ImageTextTowers : std::uint8_t { both, text, image };
/// The token that represents a text: its hidden state is the vector of the text.
enum class TextTowerPooling : std::uint8_t {
  end_of_text,  // the first token with the id ImageTextConfig::end_id (CLIP)
  largest_id,   // the token with the largest id, which is end-of-text in CLIP's first files
  last,         // the last token; texts are padded to the whole context (SigLIP)
};
/// How the vectors of a batch of images and texts are compared in training.
enum class ImageTextLoss : std::uint8_t {
  softmax,  // choose the text of an image, and the image of a text (Radford et al. 2021, "CLIP")
  sigmoid,  // decide for every image and text whether they match (Zhai et al. 2023, "SigLIP")
};
// The names in JSON are the names of the enumerators.
ChoiceNames choice_names(ImageTextTowers);
ChoiceNames choice_names(TextTowerPooling);
ChoiceNames choice_names(ImageTextLoss);

/// Returns the text tower of CLIP ViT-B/32: a causal decoder-like encoder.
EncoderConfig clip_text_tower();
/// Returns the image tower of CLIP ViT-B/32.
VitConfig clip_image_tower();

/// Sizes and options of a model with an image tower and a text tower. The defaults are CLIP
/// ViT-B/32 (Radford et al. 2021).
struct ImageTextConfig {
  EncoderConfig text = clip_text_tower();
  VitConfig image = clip_image_tower();
  ImageTextTowers towers = ImageTextTowers::both;
  TextTowerPooling text_pooling = TextTowerPooling::end_of_text;
  std::int64_t end_id = 49407;  // id of the end-of-text token, for TextTowerPooling::end_of_text
  /// Width of the vectors of images and texts. 0: the pooled hidden states are the vectors, which
  /// is possible for single towers only.
  std::int64_t projection = 512;
  bool text_projection_bias = false;
  /// False: the pooled vector of the image tower is not projected (SigLIP). Its width must then be
  /// `projection`.
  bool image_projection = true;
  ImageTextLoss loss = ImageTextLoss::softmax;
  /// Initial value of the natural logarithm of the factor by which cosines are multiplied (the
  /// inverse temperature).
  double logit_scale = 2.6592;
  double logit_bias = 0;  // initial value of the number added to scaled cosines; sigmoid only

  bool has_text() const { return towers != ImageTextTowers::image; }
  bool has_images() const { return towers != ImageTextTowers::text; }

  /// Throws ArgumentError if a field is invalid; the message names the tower, the field, its value
  /// and the valid values.
  void check() const;
  /// All fields with their help texts. The names of the towers' fields begin with "text_" or
  /// "vision_".
  static const FieldList<ImageTextConfig>& fields();
  /// Returns a JSON object with every field: {"towers": ..., ..., "family": "image-text"}.
  std::string to_json() const;
  /// Throws FormatError if a field is missing, unknown or has the wrong type, and ArgumentError
  /// under the same conditions as check().
  static ImageTextConfig from_json(std::string_view json);

  friend bool operator==(const ImageTextConfig&, const ImageTextConfig&) = default;
};

}  // namespace weft

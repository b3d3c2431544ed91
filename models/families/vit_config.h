// VitConfig: what a vision transformer is made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/models/fields/field_list.h"
#include "weft/models/layers/activation.h"

namespace WEFT_API weft {

/// How a vision transformer knows where a patch is.
enum class VitPositions : std::uint8_t {
  learned,        // a vector per token (ViT)
  sinusoidal_2d,  // sines and cosines of the row, then of the column (Chen et al. 2021, MoCo v3)
};
/// What stands for the whole image.
enum class VitPooling : std::uint8_t {
  class_token,  // a token of its own in front
  mean,         // the mean of the patches; there is no class token
};
// Their names are those above.
ChoiceNames choice_names(VitPositions);
ChoiceNames choice_names(VitPooling);

/// Sizes and choices of a vision transformer. The defaults are ViT-B/16 (Dosovitskiy et al. 2021).
struct VitConfig {
  std::int64_t image_height = 224, image_width = 224;  // pixels; multiples of the patches'
  std::int64_t patch_height = 16, patch_width = 16;
  std::int64_t channels = 3;
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t width = 768;  // of tokens; a multiple of heads
  std::int64_t inner = 3072;
  Activation activation = Activation::gelu_erf;
  bool qkv_bias = true;
  double layer_norm_eps = 1e-12;
  VitPositions positions = VitPositions::learned;
  VitPooling pooling = VitPooling::class_token;
  bool distillation = false;  // a second token that learns from a teacher (DeiT)
  double dropout = 0;         // on embeddings and on what layers add
  double attention_dropout = 0;
  double initializer_range = 0.02;

  std::int64_t rows() const { return image_height / patch_height; }
  std::int64_t columns() const { return image_width / patch_width; }
  /// Tokens in front of the patches.
  std::int64_t extra_tokens() const {
    return (pooling == VitPooling::class_token ? 1 : 0) + (distillation ? 1 : 0);
  }
  std::int64_t tokens() const { return extra_tokens() + rows() * columns(); }

  /// Throws ArgumentError naming the field, its value and what is allowed.
  void check() const;
  /// Every field, with its help.
  static const FieldList<VitConfig>& fields();
  /// {"image_height": ..., ..., "family": "vit"}. Every field is written.
  std::string to_json() const;
  /// Throws FormatError for a missing, unknown or wrongly typed field, ArgumentError as check().
  static VitConfig from_json(std::string_view json);

  friend bool operator==(const VitConfig&, const VitConfig&) = default;
};

}  // namespace weft

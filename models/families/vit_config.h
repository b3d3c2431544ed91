// VitConfig: sizes and options of a vision transformer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/models/fields/field_list.h"
#include "weft/models/layers/activation.h"

namespace WEFT_API weft {

/// How a vision transformer represents patch positions.
enum class VitPositions : std::uint8_t {
  learned,        // a learned embedding per token (ViT)
  sinusoidal_2d,  // sines and cosines of the row, then of the column (Chen et al. 2021, MoCo v3)
};
/// How the tokens are pooled into one vector per image.
enum class VitPooling : std::uint8_t {
  class_token,  // a class token before the patches
  mean,         // mean of the patches, without a class token
};
// The names in JSON are the names of the enumerators.
ChoiceNames choice_names(VitPositions);
ChoiceNames choice_names(VitPooling);

/// Sizes and options of a vision transformer. The defaults are ViT-B/16 (Dosovitskiy et al. 2021).
struct VitConfig {
  std::int64_t image_height = 224, image_width = 224;  // pixels; partial patches are ignored
  std::int64_t patch_height = 16, patch_width = 16;
  std::int64_t channels = 3;
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t width = 768;  // token width; a multiple of heads
  std::int64_t inner = 3072;
  Activation activation = Activation::gelu_erf;
  bool qkv_bias = true;
  double layer_norm_eps = 1e-12;
  VitPositions positions = VitPositions::learned;
  VitPooling pooling = VitPooling::class_token;
  bool distillation = false;  // a second token, trained with a teacher's predictions (DeiT)
  double dropout = 0;         // on the embeddings and on the outputs of blocks
  double attention_dropout = 0;
  double initializer_range = 0.02;

  std::int64_t rows() const { return image_height / patch_height; }
  std::int64_t columns() const { return image_width / patch_width; }
  /// Number of tokens before the patches.
  std::int64_t extra_tokens() const {
    return (pooling == VitPooling::class_token ? 1 : 0) + (distillation ? 1 : 0);
  }
  std::int64_t tokens() const { return extra_tokens() + rows() * columns(); }

  /// Throws ArgumentError if a field is invalid; the message names the field, its value and the
  /// valid values.
  void check() const;
  /// All fields with their help texts.
  static const FieldList<VitConfig>& fields();
  /// Returns a JSON object with every field: {"image_height": ..., ..., "family": "vit"}.
  std::string to_json() const;
  /// Throws FormatError if a field is missing, unknown or has the wrong type, and ArgumentError
  /// under the same conditions as check().
  static VitConfig from_json(std::string_view json);

  friend bool operator==(const VitConfig&, const VitConfig&) = default;
};

}  // namespace weft

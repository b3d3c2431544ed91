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
  /// Queries and keys of the patches are rotated by the coordinates of their centres, which are in
  /// [-1, 1] (Siméoni et al. 2025, "DINOv3").
  rotary_2d,
  /// A table that is not trained, initialised with sines and cosines of the column, then of the row
  /// (He et al. 2022, "MAE").
  fixed,
  none,  // only relative position biases, or none (BEiT)
};
/// How the tokens are pooled into one vector per image.
enum class VitPooling : std::uint8_t {
  class_token,     // a class token before the patches
  mean,            // mean of the patches, without a class token
  patch_mean,      // mean of the patches; a class token takes part in attention only (BEiT)
  class_and_mean,  // class token and mean of the patches, concatenated: 2 * width (DINOv2)
  attention,       // attention of a learned query to the patches, without a class token (SigLIP)
};
/// How the position table is resized for images of another size than the config's.
enum class VitInterpolation : std::uint8_t {
  none,       // other image sizes are errors
  bicubic,    // PyTorch's bicubic: half-pixel centres, a = -0.75
  antialias,  // the same with antialias: a = -0.5, and a wider kernel when the table shrinks
};
// The names in JSON are the names of the enumerators.
ChoiceNames choice_names(VitPositions);
ChoiceNames choice_names(VitPooling);
ChoiceNames choice_names(VitInterpolation);

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

  // Tokens
  bool patch_bias = true;      // bias of the patch projection
  std::int64_t registers = 0;  // learned tokens between the class token and the patches, without
                               // positions (Darcet et al. 2024)
  bool mask_token = false;     // declare a mask token in every class (DINOv2)
  VitInterpolation interpolation = VitInterpolation::none;

  // Positions in attention
  double rotary_base = 100;           // rotary_2d: base of the frequencies
  double position_shift = 0;          // rotary_2d, training: shift of the coordinates, at most
  double position_jitter = 0;         // rotary_2d, training: largest factor per axis; 0 = none
  double position_rescale = 0;        // rotary_2d, training: largest common factor; 0 = none
  bool relative_bias = false;         // a table of relative position biases in every layer (BEiT)
  bool shared_relative_bias = false;  // one table for all layers

  // Blocks
  bool embedding_norm = false;  // norm of the embeddings before the first layer (CLIP)
  /// The norm after the last layer: true normalises all tokens, false only the pooled vector (CLIP,
  /// BEiT with mean pooling).
  bool final_norm = true;
  bool pooled_norm = true;  // without final_norm: false for no norm at all (data2vec)
  // Biases that can be switched off; those of queries, keys and values also need qkv_bias.
  bool query_bias = true, key_bias = true, value_bias = true;
  bool attention_out_bias = true, mlp_bias = true;
  bool gated = false;       // down(activation(gate(x)) * up(x)): SwiGLU with silu
  bool fused_gate = false;  // one matrix feed_forward.gate_up: all gates, then all ups (DINOv2)
  /// Multiply the output of every block by a learned vector (Touvron et al. 2021, "LayerScale").
  bool layer_scale = false;
  double layer_scale_init = 1;
  double drop_path = 0;             // rate of stochastic depth
  bool drop_path_increases = true;  // linearly from 0 in the first layer; else the same in all

  // Masked autoencoder (He et al. 2022): a decoder that reconstructs masked patches. Only
  // MaskedAutoencoder uses these fields.
  std::int64_t decoder_layers = 8, decoder_heads = 16, decoder_width = 512, decoder_inner = 2048;
  double mask_ratio = 0.75;           // fraction of masked patches
  bool normalise_pixel_loss = false;  // targets are normalised within each patch

  std::int64_t rows() const { return image_height / patch_height; }
  std::int64_t columns() const { return image_width / patch_width; }
  bool has_class_token() const {
    return pooling != VitPooling::mean && pooling != VitPooling::attention;
  }
  /// Number of tokens before the patches: class token, distillation token, registers.
  std::int64_t extra_tokens() const { return position_extra() + registers; }
  /// Number of these tokens that have positions: all but the registers.
  std::int64_t position_extra() const {
    return (has_class_token() ? 1 : 0) + (distillation ? 1 : 0);
  }
  /// Rows of the position table.
  std::int64_t position_count() const { return position_extra() + rows() * columns(); }
  /// Width of the pooled vector.
  std::int64_t pooled_width() const {
    return pooling == VitPooling::class_and_mean ? 2 * width : width;
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

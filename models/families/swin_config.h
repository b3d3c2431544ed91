// SwinConfig: sizes and options of a Swin transformer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/families/vit_config.h"

namespace WEFT_API weft {

/// Sizes and options of a Swin transformer. The defaults are Swin-T (Liu et al. 2021).
struct SwinConfig {
  std::int64_t image_height = 224, image_width = 224;  // pixels; padded to whole patches
  std::int64_t patch_height = 4, patch_width = 4;
  std::int64_t channels = 3;
  std::int64_t width = 96;  // of the first stage; doubles from stage to stage
  /// Blocks and attention heads of each stage: whole numbers. Both lists have the same length.
  std::vector<double> depths = {2, 2, 6, 2}, heads = {3, 6, 12, 24};
  /// Side of the windows in patches. Every second block shifts them by half of it. In a stage with
  /// fewer rows or columns, the smaller of both numbers takes its place, and nothing is shifted.
  std::int64_t window = 7;
  double mlp_ratio = 4;  // width of feed-forward blocks / width of the stage, rounded down
  Activation activation = Activation::gelu_erf;
  bool qkv_bias = true;
  bool positions = false;        // add a learned embedding to every patch
  double layer_norm_eps = 1e-5;  // of blocks and the last norm; 1e-5 in the others
  double dropout = 0, attention_dropout = 0;
  double drop_path = 0.1;  // stochastic depth, increases linearly from 0 in the first block
  double initializer_range = 0.02;

  std::int64_t stages() const { return static_cast<std::int64_t>(depths.size()); }
  std::int64_t depth(std::int64_t stage) const;
  /// Number of blocks in all stages.
  std::int64_t blocks() const;
  std::int64_t stage_width(std::int64_t stage) const { return width << stage; }
  std::int64_t final_width() const { return stage_width(stages() - 1); }
  /// Patches of the first stage.
  std::int64_t rows() const { return (image_height + patch_height - 1) / patch_height; }
  std::int64_t columns() const { return (image_width + patch_width - 1) / patch_width; }
  /// Returns the sizes and options of the blocks of a stage, as those of a Vit.
  VitConfig stage(std::int64_t stage) const;

  /// Throws ArgumentError if a field is invalid; the message names the field, its value and the
  /// valid values.
  void check() const;
  /// All fields with their help texts.
  static const FieldList<SwinConfig>& fields();
  /// Returns a JSON object with every field: {"image_height": ..., ..., "family": "swin"}.
  std::string to_json() const;
  /// Throws FormatError if a field is missing, unknown or has the wrong type, and ArgumentError
  /// under the same conditions as check().
  static SwinConfig from_json(std::string_view json);

  friend bool operator==(const SwinConfig&, const SwinConfig&) = default;
};

}  // namespace weft

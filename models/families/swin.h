// Swin transformers (Liu et al. 2021): attention within windows of patches, which every second
// block shifts; between stages, 2 x 2 patches are merged into one.
//
//   h = norm(patches * W + b)
//   for every stage:  h = blocks(h), as in Vit, with attention within windows and a learned bias
//                     for each displacement of two patches
//                     h = norm([2 x 2 patches]) * W, except after the last stage
//   last_hidden_state = norm(h)
//
// Parameters, relative to the scope; matrices are [out, in]:
//   patches.weight [width, channels, patch height, patch width], patches.bias [width]
//   embedding_norm.{weight,bias}, mask_token [1, 1, width], positions [1, patches, width]
//   stages.<s>.blocks.<i>: as layers.<i> of a Vit, and attention.relative_bias
//     [(2 * window - 1)^2, heads]
//   stages.<s>.merge.norm.{weight,bias} [4 * stage width], stages.<s>.merge.reduction.weight
//   norm.{weight,bias}
#pragma once

#include <optional>
#include <vector>

#include "weft/models/families/swin_config.h"
#include "weft/models/families/vit.h"

namespace WEFT_API weft {

/// A Swin transformer: declares its parameters and applies them. The mode of its Scope determines
/// whether dropout is applied.
class Swin {
 public:
  /// Declares all parameters below `scope`, including a mask token only if `masked_patches`. Throws
  /// ArgumentError if the config is invalid.
  Swin(const Scope& scope, const SwinConfig& config, bool masked_patches = false,
       SourceLocation loc = SourceLocation::current());

  const SwinConfig& config() const { return config_; }
  Swin training() const { return in(Mode::training); }
  Swin evaluation() const { return in(Mode::evaluation); }
  Swin in(Mode mode) const;

  /// Builds the whole forward pass. images: f32 [batch, channels, height, width], of any constant
  /// size (with learned positions: with the number of patches of the config, otherwise ShapeError).
  /// `mask` [batch, patches], any dtype, may be undefined: patches with mask 1 are replaced by the
  /// mask token. VitOutputs::hidden has stages + 1 values: the embeddings, and the output of every
  /// stage [batch, patches, width], after merging. Cost: linear in the number of patches.
  VitOutputs operator()(Value images, Value mask = {},
                        SourceLocation loc = SourceLocation::current()) const;
  /// Pools last_hidden_state [batch, patches, width] into the mean of the patches, [batch, width].
  Value pool(Value last_hidden_state) const;

 private:
  struct Stage {
    std::vector<VitLayer> blocks;
    std::optional<Norm> merge_norm;
    std::optional<Linear> merge;
  };

  Scope scope_;
  SwinConfig config_;
  Variable patches_, patches_bias_, mask_token_, positions_;
  Norm embedding_norm_, norm_;
  std::vector<Stage> stages_;
};

/// Returns the config of the patch grid of a Swin model, for masked_pixel_loss() and
/// make_pixel_head(): image and patch sizes, channels and the width of the last stage.
VitConfig patch_grid_config(const SwinConfig& config);

}  // namespace weft

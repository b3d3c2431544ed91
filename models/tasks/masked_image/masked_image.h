// Masked-image modelling: a vision transformer is trained to reconstruct the masked patches of an
// image from the visible patches. This needs no labels. The weights can then be used to initialise
// a classifier. There are two objectives.
//
// SimMIM (Xie et al. 2022):
//   h = vit(image), with the mask token in place of masked patches
//   pixels = pixel_shuffle(h of the patches * W + b)
//   loss = mean of |pixels - image| over the pixels of masked patches, both normalised
//
// MAE (He et al. 2022). The encoder is cheaper because it sees the visible patches only:
//   pixels = MaskedAutoencoder(image)
//   loss = mean of (pixels - image)^2 over the pixels of masked patches, both normalised
//
// The program inputs are "images", f32 [batch, channels, height, width] with values in [0, 1],
// which the programs normalise, and "mask", i32 [batch, patches], 1 = masked. The parameters are
// those of a Vit at the root of the graph, including mask_token, and pixels.{weight,bias}; or those
// of a MaskedAutoencoder.
#pragma once

#include <string>

#include "weft/graph/run/session.h"
#include "weft/models/data/corruption/patch_mask.h"
#include "weft/models/data/images/image_augment.h"
#include "weft/models/families/vit_config.h"
#include "weft/models/inputs/image_info.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/tasks/image_embedding/image_encoder.h"
#include "weft/models/training/model.h"

namespace WEFT_API weft {

/// A masked-image model as stored in a model file. Programs:
///   train        one complete training step
///   evaluate     output "loss": the loss over masked pixels without dropout; SimMIM's is in
///                standard deviations
///   reconstruct  "reconstruction", the images with predictions in place of masked patches, and
///                "pixels", the predictions for all patches. Both are f32 of the size and scale of
///                the images, not clamped to [0, 1].
struct MaskedImageModel : ModelKind<MaskedImageModel>, ImageModel {
  VitConfig config;
  ImageInfo images;                // preprocessing; there are no classes
  ImageAugmentation augmentation;  // for training images
  PatchMasking masking;

  /// Returns the layout of the model file.
  static const ModelLayout& file_layout();
  void check() const override;
  /// Returns the model in Hugging Face layout.
  FolderModel to_folder() const;
  std::unique_ptr<ImageEncoder> image_encoder() const override;
  ImageSize image_size() const {
    return {config.channels, config.image_height, config.image_width};
  }
};

/// Builds a new model. It has no variables yet (a Session creates them) and is not trainable.
/// For MAE, the position tables are in the store, and config.mask_ratio is that of `masking`.
/// Throws ArgumentError if the patches are not square (required by SimMIM's pixel shuffle), if the
/// masking is not compatible with the patch grid, if the normalisation does not match the number of
/// channels, or under the same conditions as MaskedAutoencoder.
MaskedImageModel build_masked_image_model(const VitConfig& config,
                                          const ImageNormalisation& normalisation,
                                          const ImageAugmentation& augmentation,
                                          const PatchMasking& masking,
                                          const TrainSettings& settings,
                                          SourceLocation loc = SourceLocation::current());

/// Returns an SVG document with three versions of every image: the original, the image with its
/// masked patches removed, and the reconstruction. `images` is [count, channels, height, width] and
/// `mask` i32 [count, patches]. Throws ShapeError if images or masks have the wrong size.
std::string reconstruction_svg(Session& session, const MaskedImageModel& model,
                               const Tensor& images, const Tensor& mask, const std::string& title);

}  // namespace weft

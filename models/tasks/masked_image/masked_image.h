// Masked-image modelling as one file (Xie et al. 2022, "SimMIM"): a vision transformer that sees
// some patches of an image and learns to fill in the others, from images alone. What it learned is
// then the start of a classifier (pretrained_vit.h).
//
//   h = vit(image, hidden patches as the mask token)
//   pixels = pixel_shuffle(h of the patches * W + b)
//   loss = mean of |pixels - image| over the pixels of hidden patches, both normalised
//
// Programs take "images" f32 [batch, channels, height, width] with values in [0, 1], the
// normalisation is inside them, and "mask" i32 [batch, patches], 1 = hidden. Parameters are those
// of Vit at the root, with its mask_token, and pixels.{weight,bias}.
#pragma once

#include <string>

#include "weft/graph/run/session.h"
#include "weft/models/data/image_augment.h"
#include "weft/models/data/patch_mask.h"
#include "weft/models/families/vit_config.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/trained/image_info.h"
#include "weft/models/trained/model.h"

namespace WEFT_API weft {

/// What a file of it holds. Programs:
///   train        one whole training step
///   evaluate     "loss", without dropout: of hidden pixels, in deviations
///   reconstruct  "reconstruction": the images with their hidden patches filled in, and "pixels",
///                what the model says of all patches; f32, of the images' sizes and scale, not cut
///                off at 0 and 1
struct MaskedImageModel : ModelKind<MaskedImageModel> {
  VitConfig config;
  ImageInfo images;                // how pixels are normalised; there are no classes
  ImageAugmentation augmentation;  // of training
  PatchMasking masking;

  /// The parts of its file.
  static const ModelLayout& file_layout();
  void check() const override;
  ImageSize image_size() const {
    return {config.channels, config.image_height, config.image_width};
  }
};

/// A new model that cannot be trained yet, its variables not made (a Session does that). Throws
/// ArgumentError where the patches are not square (their pixels come out of a pixel shuffle), the
/// masking does not fit their grid or the normalisation the channels.
MaskedImageModel build_masked_image_model(const VitConfig& config,
                                          const ImageNormalisation& normalisation,
                                          const ImageAugmentation& augmentation,
                                          const PatchMasking& masking,
                                          const TrainSettings& settings,
                                          SourceLocation loc = SourceLocation::current());

/// Images [count, channels, height, width] as they are, as the model sees them with `mask` i32
/// [count, patches], and with the hidden patches filled in: an SVG document. ShapeError for images
/// and masks of other sizes.
std::string reconstruction_svg(Session& session, const MaskedImageModel& model,
                               const Tensor& images, const Tensor& mask, const std::string& title);

/// The model as a folder of the library has it.
FolderModel folder_model_of(const MaskedImageModel& model);

}  // namespace weft

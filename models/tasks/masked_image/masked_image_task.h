// Masked-image models: training and measuring.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/tasks/masked_image/masked_image.h"
#include "weft/models/train/trainer.h"

namespace WEFT_API weft {

/// The masks of held-out images, i32 [places.size(), patches]: always the same for the image at a
/// place of its set, and none that training draws.
Tensor held_out_masks(const MaskedImageModel& model, const std::vector<std::int64_t>& places);

/// The loss on `most` images of a set, evenly spread (0: on all), with held_out_masks. Throws
/// DataError where there are no images, ShapeError for images of another size.
double masked_image_loss(Session& session, const MaskedImageModel& model, const ImageSet& set,
                         std::int64_t most = 0);

/// Training on `train` with looks at `validation`, which may be empty; labels are not read. Which
/// patches are hidden is drawn anew for every image of every step. Session, model and sets must
/// outlive the task.
TrainTask masked_image_task(Session& session, const MaskedImageModel& model, const ImageSet& train,
                            const ImageSet& validation);

/// What a model must beat: the same loss, on the same images with the same masks, of guesses that
/// take no learning.
struct MaskedImageBaselines {
  /// Every channel of an image is its mean over the visible patches.
  double visible_mean = 0;
  /// Every pixel is its median over training images (2,000 of them at most): of all guesses that do
  /// not look at the image the best.
  double training_median = 0;
};
/// Throws as masked_image_loss, for either set.
MaskedImageBaselines masked_image_baselines(const MaskedImageModel& model, const ImageSet& train,
                                            const ImageSet& held_out);

}  // namespace weft

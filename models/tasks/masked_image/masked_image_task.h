// Training and evaluation of masked-image models.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/tasks/masked_image/masked_image.h"
#include "weft/models/training/trainer.h"

namespace WEFT_API weft {

/// Returns masks for held-out images, i32 [places.size(), patches]. The mask for the image at index
/// `place` in its set is always the same, and differs from the masks used in training.
Tensor held_out_masks(const MaskedImageModel& model, const std::vector<std::int64_t>& places);

/// Returns the loss on `most` evenly spaced images in a set (0 = all images), with
/// held_out_masks(). Throws DataError if there are no images, and ShapeError if the image size
/// differs.
double masked_image_loss(Session& session, const MaskedImageModel& model, const ImageSet& set,
                         std::int64_t most = 0);

/// Returns the task for training on `train` and evaluating on `validation`, which may be empty.
/// Labels are ignored. Every training step samples new masks. The session, the model and the image
/// sets must outlive the task.
TrainTask masked_image_task(Session& session, const MaskedImageModel& model, const ImageSet& train,
                            const ImageSet& validation);

/// Baseline losses: the losses of two trivial predictors on the same images and masks.
struct MaskedImageBaselines {
  /// Predicts, for each channel of an image, the mean over its visible patches.
  double visible_mean = 0;
  /// Predicts, for each pixel, the median over at most 2,000 training images. This is the best
  /// prediction that does not depend on the image.
  double training_median = 0;
};
/// Computes the baselines. Throws the same exceptions as masked_image_loss() for both sets.
MaskedImageBaselines masked_image_baselines(const MaskedImageModel& model, const ImageSet& train,
                                            const ImageSet& held_out);

}  // namespace weft

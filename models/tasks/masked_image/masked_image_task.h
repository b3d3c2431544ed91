// Training and evaluation of masked-image models.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/tasks/masked_image/masked_image.h"
#include "weft/models/train/trainer.h"

namespace WEFT_API weft {

/// Returns the masks of held-out images, i32 [places.size(), patches]. The mask of the image at
/// index `place` of its set is always the same, and differs from the masks of training steps.
Tensor held_out_masks(const MaskedImageModel& model, const std::vector<std::int64_t>& places);

/// Returns the loss on `most` evenly spaced images of a set (0: on all), with held_out_masks().
/// Throws DataError if there are no images, ShapeError for images of another size.
double masked_image_loss(Session& session, const MaskedImageModel& model, const ImageSet& set,
                         std::int64_t most = 0);

/// Returns the task of training on `train` and evaluating on `validation`, which may be empty.
/// Labels are ignored. Every training step samples new masks for its images. Session, model and
/// sets must outlive the task.
TrainTask masked_image_task(Session& session, const MaskedImageModel& model, const ImageSet& train,
                            const ImageSet& validation);

/// Losses of two trivial predictors on the same images with the same masks, as baselines.
struct MaskedImageBaselines {
  /// Predicts, for every channel of an image, its mean over the visible patches.
  double visible_mean = 0;
  /// Predicts the median of every pixel over at most 2,000 training images. This is the best
  /// prediction that does not depend on the image.
  double training_median = 0;
};
/// Computes the baselines. Throws the same exceptions as masked_image_loss, for either set.
MaskedImageBaselines masked_image_baselines(const MaskedImageModel& model, const ImageSet& train,
                                            const ImageSet& held_out);

}  // namespace weft

// Zero-shot classification: the classes of images are given as texts.
//
//     const LoadedModel loaded = load_model_for(Use::classify, "clip-vit-base-patch32");
//     Session session(*loaded.model->graph, loaded.model->store);
//     const auto classes = zero_shot_classes(session, *loaded.model, {"photo.jpg"},
//                                            {"a cat", "a dog"}, {.templates = {"a photo of {}"}});
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/models/tasks/image_text/image_text_model.h"

namespace WEFT_API weft {

struct ZeroShotOptions {
  /// Texts in which {} is replaced by the label. The vector of a class is the mean of the vectors
  /// of its label in all templates (Radford et al. 2021, section 3.1.4).
  std::vector<std::string> templates = {"{}"};
  std::int64_t most = 3;  // maximum number of classes per image
  OnCut on_cut = {};      // called for labels that are truncated; they count over all templates
};

/// Returns the most likely of the classes `labels` for every image file, in descending order of
/// probability. The probabilities of an image are the softmax of its logits for models with the
/// softmax loss (CLIP), so that they sum to 1, and the sigmoids for models with the sigmoid loss
/// (SigLIP), which are independent of the other labels. `session` must run the model's graph with
/// its store. Throws FormatError if `model` does not compare images and texts, ArgumentError if
/// there are no labels or a template lacks {}, and the same exceptions as read_image(),
/// preprocess_image() and TextReader::rows().
std::vector<std::vector<ClassScore>> zero_shot_classes(Session& session, const TrainedModel& model,
                                                       std::span<const std::string> paths,
                                                       const std::vector<std::string>& labels,
                                                       const ZeroShotOptions& options = {});

/// Returns the logits f32 [images, labels] of zero_shot_classes() for images [images, channels,
/// height, width] with the image size of the model.
Tensor zero_shot_logits(Session& session, const ImageTextModel& model, const Tensor& images,
                        const std::vector<std::string>& labels,
                        const ZeroShotOptions& options = {});

}  // namespace weft

// A classifier of images as one file: a vision transformer with its head, what its classes are
// called, and how it was trained.
//
// Programs take images as f32 [batch, channels, height, width] with values in [0, 1]; the
// normalisation is inside them. Parameters are those of Vit at the root, and
// classifier.{weight,bias}, as models/hf names them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/data/image_augment.h"
#include "weft/models/families/vit_config.h"
#include "weft/models/hf/folder.h"
#include "weft/models/metrics/classification_metrics.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/tasks/common/task.h"
#include "weft/models/train/trainer.h"
#include "weft/models/trained/image_info.h"
#include "weft/models/trained/model.h"

namespace WEFT_API weft {

/// What an image-classifier file holds. Programs:
///   train     over "images" and "labels" (i32 [batch]): one whole training step
///   evaluate  "images", "labels" -> "loss" (mean) and "predictions" (i64 [batch]), without dropout
///   classify  "images" -> "probabilities" (f32 [batch, classes]) and "predictions"
struct ImageClassifier : ModelKind<ImageClassifier> {
  VitConfig config;
  ImageInfo images;                // the names of the classes, and how pixels are normalised
  ImageAugmentation augmentation;  // of training

  /// The parts of its file.
  static const ModelLayout& file_layout();
  void check() const override;
  const std::vector<std::string>& classes() const { return images.classes; }
  ImageSize image_size() const {
    return {config.channels, config.image_height, config.image_width};
  }
};

/// A new model that cannot be trained yet, its variables not made (a Session does that). Throws
/// ArgumentError where there are fewer than two classes or the normalisation does not fit the
/// channels. A distillation token (DeiT) is there for weights that were trained with one: the class
/// is read off the class token, as DeiTForImageClassification does it.
ImageClassifier build_image_classifier(const VitConfig& config,
                                       const std::vector<std::string>& classes,
                                       const ImageNormalisation& normalisation,
                                       const ImageAugmentation& augmentation,
                                       const TrainSettings& settings,
                                       SourceLocation loc = SourceLocation::current());

/// The classifier in a folder of the library (ViTForImageClassification,
/// DeiTForImageClassification, also WithTeacher): "evaluate" and "classify" only. Null where it
/// holds another class. Throws FormatError where no preprocessor_config.json says how pixels are
/// normalised, ArgumentError for a config that is not supported, and as hf::load_weights.
std::unique_ptr<ImageClassifier> image_classifier_of(const hf::Folder& folder);

/// The model as a folder of the library has it.
FolderModel folder_model_of(const ImageClassifier& model);

/// Probabilities of the classes: f32 [count, classes] for images [count, channels, height, width]
/// of the model's size; ShapeError for others (fit_image makes an image fit).
Tensor class_probabilities(Session& session, const ImageClassifier& model, const Tensor& images);

/// The `most` likely classes of an image [channels, height, width] of any size, which is fitted to
/// the model's; the likeliest first.
std::vector<ClassScore> classify(Session& session, const ImageClassifier& model,
                                 const Tensor& image, std::int64_t most = 5);

/// What an evaluation found.
struct ImageEvaluation {
  double loss = 0;  // mean
  ConfusionMatrix matrix;
};
/// Measures `model` on a set with its classes and its size of images (DataError, ShapeError).
ImageEvaluation evaluate_images(Session& session, const ImageClassifier& model,
                                const ImageSet& set);

/// Training on `train` with looks at `validation`, which may be empty: loss and "accuracy".
/// Session, model and sets must outlive the task.
TrainTask image_task(Session& session, const ImageClassifier& model, const ImageSet& train,
                     const ImageSet& validation);

/// Where the model looks: the image, and for every layer how much each patch is attended to, by the
/// class token or, in a model without one, by all patches, as a mean over heads. An SVG document.
/// `image` is [channels, height, width] of the model's size.
std::string attention_svg(const ImageClassifier& model, const Tensor& image,
                          const std::string& title);

}  // namespace weft

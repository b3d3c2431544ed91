// Image classification: a vision transformer with a head, class names and training settings.
//
// Programs accept images as f32 [batch, channels, height, width] with values in [0, 1] and
// normalise them. The parameters are those of a Vit or Swin at the root of the graph, and
// classifier.{weight,bias}. models/hf uses the same names.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/data/images/image_augment.h"
#include "weft/models/families/swin_config.h"
#include "weft/models/families/vit_config.h"
#include "weft/models/hf/folder.h"
#include "weft/models/inputs/image_info.h"
#include "weft/models/metrics/classification_metrics.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/tasks/common/uses.h"
#include "weft/models/tasks/image_embedding/image_encoder.h"
#include "weft/models/training/model.h"
#include "weft/models/training/trainer.h"

namespace WEFT_API weft {

/// What image classifiers of all families have in common. Programs:
///   train     inputs "images" and "labels" (i32 [batch]); one complete training step
///   evaluate  "images", "labels" -> "loss" (mean) and "predictions" (i64 [batch]), without dropout
///   classify  "images" -> "probabilities" (f32 [batch, classes]) and "predictions"
struct AnyImageClassifier : TrainedModel, Classifier, ImageModel {
  ImageInfo images = {};                // class names and preprocessing
  ImageAugmentation augmentation = {};  // for training images

  virtual ImageSize image_size() const = 0;
  const std::vector<std::string>& classes() const { return images.classes; }
  void check() const override;
  /// Reads the images with read_image(), and throws the same exceptions.
  std::vector<std::vector<ClassScore>> most_likely_classes(
      Session& session, const std::vector<std::string>& paths,
      const ClassifyOptions& options) const override;
};

/// An image classifier as stored in a model file.
struct ImageClassifier : ModelKind<ImageClassifier, AnyImageClassifier> {
  VitConfig config;

  /// Returns the layout of the model file.
  static const ModelLayout& file_layout();
  void check() const override;
  /// Returns the model in Hugging Face layout.
  FolderModel to_folder() const;
  std::unique_ptr<ImageEncoder> image_encoder() const override;
  ImageSize image_size() const override {
    return {config.channels, config.image_height, config.image_width};
  }
};

/// An image classifier with a Swin transformer.
struct SwinClassifier : ModelKind<SwinClassifier, AnyImageClassifier> {
  SwinConfig config;

  /// Returns the layout of the model file.
  static const ModelLayout& file_layout();
  void check() const override;
  /// Returns the model in Hugging Face layout.
  FolderModel to_folder() const;
  std::unique_ptr<ImageEncoder> image_encoder() const override;
  ImageSize image_size() const override {
    return {config.channels, config.image_height, config.image_width};
  }
};

/// Builds a new model. It has no variables yet (a Session creates them) and is not trainable.
/// Throws ArgumentError if there are fewer than two classes, or if the normalisation does not match
/// the number of channels. A distillation token (DeiT) is supported for weights that were trained
/// with one. The head uses only the class token, as in DeiTForImageClassification.
ImageClassifier build_image_classifier(const VitConfig& config,
                                       const std::vector<std::string>& classes,
                                       const ImageNormalisation& normalisation,
                                       const ImageAugmentation& augmentation,
                                       const TrainSettings& settings,
                                       SourceLocation loc = SourceLocation::current());

/// As above, for a Swin transformer.
SwinClassifier build_image_classifier(const SwinConfig& config,
                                      const std::vector<std::string>& classes,
                                      const ImageNormalisation& normalisation,
                                      const ImageAugmentation& augmentation,
                                      const TrainSettings& settings,
                                      SourceLocation loc = SourceLocation::current());

/// Returns the classifier in a Hugging Face folder (the classes ...ForImageClassification of vision
/// transformers, and DeiTForImageClassificationWithTeacher), or null if the folder contains another
/// model class. The model has only the programs "evaluate" and "classify". Throws FormatError if
/// there is no preprocessor_config.json, which specifies the preprocessing. Throws ArgumentError if
/// the config is not supported. Also throws the same exceptions as hf::load_weights.
std::unique_ptr<ImageClassifier> image_classifier_of(const hf::Folder& folder);
/// As above, for SwinForImageClassification.
std::unique_ptr<SwinClassifier> swin_classifier_of(const hf::Folder& folder);

/// Adds the programs "evaluate" and "classify" for logits [batch, classes].
void add_image_inference(Programs& programs, const Value& logits, const Value& labels,
                         Precision precision, SourceLocation loc = SourceLocation::current());

/// Returns the class probabilities, f32 [count, classes], for images [count, channels, height,
/// width]. Throws ShapeError if the images do not have the model's image size; preprocess_image()
/// resizes images.
Tensor class_probabilities(Session& session, const AnyImageClassifier& model, const Tensor& images);

/// Returns the `most` most likely classes of an image, most likely first. The image [channels,
/// height, width] may have any size; it is converted with preprocess_image() and the geometry of
/// the model. `name` identifies it in error messages. Throws the same exceptions as
/// preprocess_image().
std::vector<ClassScore> classify(Session& session, const AnyImageClassifier& model,
                                 const Tensor& image, std::int64_t most = 5,
                                 std::string_view name = "the image");

/// Evaluation results.
struct ImageEvaluation {
  double loss = 0;  // mean over the images
  ConfusionMatrix matrix;
};
/// Evaluates `model` on a set of images. Throws DataError if the set is empty or its classes differ
/// from the model's classes, and ShapeError if the image sizes differ.
ImageEvaluation evaluate_images(Session& session, const AnyImageClassifier& model,
                                const ImageSet& set);

/// Returns the task for training on `train` and evaluating on `validation`, which may be empty.
/// Evaluations report the loss and "accuracy". The session, the model and the image sets must
/// outlive the task.
TrainTask image_task(Session& session, const AnyImageClassifier& model, const ImageSet& train,
                     const ImageSet& validation);

/// Returns an SVG document that shows the image and, for every layer, the attention that each patch
/// receives from the class token, averaged over heads. For models without a class token, the
/// attention is averaged over all query tokens instead. `image` is [channels, height, width] and
/// must have the model's image size.
std::string attention_svg(const ImageClassifier& model, const Tensor& image,
                          const std::string& title);

}  // namespace weft

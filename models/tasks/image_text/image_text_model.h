// Models that compare images and texts (CLIP, SigLIP), as stored in model files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/models/data/images/image_augment.h"
#include "weft/models/families/image_text.h"
#include "weft/models/hf/folder.h"
#include "weft/models/inputs/image_info.h"
#include "weft/models/inputs/text_reader.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/tasks/common/uses.h"
#include "weft/models/tasks/image_embedding/image_encoder.h"
#include "weft/models/tasks/image_text/image_captions.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"
#include "weft/models/training/model.h"
#include "weft/models/training/trainer.h"

namespace WEFT_API weft {

/// A model that compares images and texts. Programs have the inputs "images" f32 [images, channels,
/// height, width] with pixels in [0, 1], "tokens" i32 [texts, seq] and "mask" i32 [texts, seq] (1 =
/// token):
///   train          one complete training step for images and their texts in the same order
///   evaluate       for images and their texts: "loss", "image_vectors" and "text_vectors", which
///                  have length 1
///   text_vectors   "vectors" f32 [texts, projection], not normalised
///   image_vectors  "vectors" f32 [images, projection], not normalised
///   compare        inputs "image_vectors" [images, projection] and "text_vectors" [texts,
///                  projection] of any length -> "logits" [images, texts]
/// A model with a text tower alone (CLIPTextModel) has only the program text_vectors.
struct ImageTextModel : ModelKind<ImageTextModel>, Classifier, ImageModel {
  ImageTextConfig config;
  Tokenizer tokenizer;
  std::optional<TextReading> reading;  // for tokenizers from folders
  ImageInfo images;                    // preprocessing; there are no classes
  ImageAugmentation augmentation;      // for training images

  /// Returns the layout of the model file.
  static const ModelLayout& file_layout();
  void check() const override;
  /// Returns the model in Hugging Face layout.
  FolderModel to_folder() const;
  std::unique_ptr<ImageEncoder> image_encoder() const override;
  /// Throws ArgumentError: classes are needed, see zero_shot_classes().
  std::vector<std::vector<ClassScore>> most_likely_classes(
      Session& session, const std::vector<std::string>& inputs,
      const ClassifyOptions& options) const override;
  ImageSize image_size() const {
    return {config.image.channels, config.image.image_height, config.image.image_width};
  }
  /// Returns the reader for texts. The model must outlive it.
  TextReader reader() const { return {config.text, tokenizer, reading}; }
  /// Returns the inputs "tokens" and "mask". With TextTowerPooling::last, rows are padded to the
  /// whole context, otherwise to the longest row.
  NamedTensors text_inputs(std::span<const TextRow* const> rows) const;
};

/// Builds a new model with both towers. It has no variables yet and is not trainable. Throws
/// ArgumentError if the config, the tokenizer and the normalisation do not match.
ImageTextModel build_image_text_model(const ImageTextConfig& config, const Tokenizer& tokenizer,
                                      const std::optional<TextReading>& reading,
                                      const ImageInfo& images,
                                      const ImageAugmentation& augmentation,
                                      const TrainSettings& settings);

/// Returns the model in a Hugging Face folder with a CLIPModel, SiglipModel, CLIPTextModel,
/// CLIPTextModelWithProjection or SiglipTextModel, or null if it contains another class. The model
/// cannot be trained. Throws the same exceptions as folder_preprocessing() and hf::load_weights(),
/// and FormatError if there is no tokenizer.
std::unique_ptr<ImageTextModel> image_text_model_of(const hf::Folder& folder,
                                                    const FolderTokenizer& text);

/// Returns the vectors of texts, f32 [texts, projection], not normalised. `session` must run the
/// model's graph with its store. Throws the same exceptions as TextReader::rows().
Tensor text_tower_vectors(Session& session, const ImageTextModel& model,
                          std::span<const std::string> texts, const OnCut& on_cut = {});
/// As above, for images [images, channels, height, width] with the image size of the model.
Tensor image_tower_vectors(Session& session, const ImageTextModel& model, const Tensor& images);

/// Results of an evaluation on images with captions. Recall at k is the fraction of images (texts)
/// for which a caption (image) with the text of the own caption is among the k most similar ones.
struct ImageTextEvaluation {
  double loss = 0;                                // mean over batches
  double image_recall_1 = 0, image_recall_5 = 0;  // from an image to its caption
  double text_recall_1 = 0, text_recall_5 = 0;    // from a caption to its image

  /// Returns the recalls as metrics: "image_recall@1", ...
  std::vector<Metric> metrics() const;
};
/// Evaluates the model. The loss depends on the size of batches, which is that of training.
/// Throws DataError if there are no images.
ImageTextEvaluation evaluate_image_text(Session& session, const ImageTextModel& model,
                                        const ImageCaptions& data);

/// Returns the task for training on `train` and evaluating on `validation`, which may be empty. The
/// session, the model and the data must outlive the task.
TrainTask image_text_train_task(Session& session, const ImageTextModel& model,
                                const ImageCaptions& train, const ImageCaptions& validation);

}  // namespace weft

// What the .weft file of every vision transformer holds besides its programs.
#pragma once

#include <string>
#include <vector>

#include "weft/models/data/image_augment.h"
#include "weft/models/families/vit_config.h"
#include "weft/models/train/image_normalisation.h"
#include "weft/models/train/model_file.h"
#include "weft/models/train/settings.h"

namespace weft {

/// The type of its configuration.
inline constexpr const char* kVitConfigType = "weft.config.vit";
/// The attachment of classes and normalisation.
inline constexpr const char* kImagesAttachment = "model.images";

struct ImageFile {
  VitConfig config;
  std::vector<std::string> classes;  // empty where the model knows none
  ImageNormalisation normalisation;
  ImageAugmentation augmentation;  // of training
  TrainSettings settings;
  TrainHistory history;
};
std::vector<Attachment> image_attachments(const ImageFile& parts);
/// Throws FormatError.
ImageFile read_image_file(const ModelFile& file);

/// True for a file of a model that is pre-trained to fill in hidden patches (masked_image.h).
bool holds_masked_image_model(const Checkpoint& file);

}  // namespace weft

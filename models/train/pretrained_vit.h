// A trained vision transformer to start others from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/models/train/image_classifier.h"
#include "weft/serialization/checkpoint.h"

namespace weft {

struct PretrainedVit {
  VitConfig config;
  TensorMap parameters;              // of the transformer and of the heads it has; a mask token
  std::vector<std::string> classes;  // that its head knows; empty where none are known
  /// What it was trained to see; empty where that is not known.
  std::optional<ImageNormalisation> normalisation;
};

/// Of a .weft file with a classifier of images or a masked-image model, or of a folder of Hugging
/// Face's library with a ViT or a DeiT of any class; the normalisation of a folder is that of its
/// preprocessor_config.json. Throws IoError; FormatError, also for another model, which says what
/// was found; ArgumentError for a config that is not supported.
PretrainedVit load_pretrained_vit(const std::string& path);

/// Its parameters for a model of `config`: learned positions are interpolated where the images are
/// of another size (ShapeError where tokens in front of the patches or widths differ).
TensorMap parameters_for(const PretrainedVit& base, const VitConfig& config);

}  // namespace weft

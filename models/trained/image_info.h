// What files of vision transformers say about the images that a model was trained on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/models/trained/image_normalisation.h"

namespace WEFT_API weft {

struct ImageInfo {
  std::vector<std::string> classes = {};  // empty where the model knows none
  ImageNormalisation normalisation = {};

  /// {"classes": [...], "mean": [...], "deviation": [...]}.
  std::string to_json() const;
  /// Throws FormatError.
  static ImageInfo from_json(std::string_view json);
};

}  // namespace weft

// Information in the files of vision transformers about the images that a model was trained on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/models/trained/image_normalisation.h"

namespace WEFT_API weft {

struct ImageInfo {
  std::vector<std::string> classes = {};  // names; empty for models without classes
  ImageNormalisation normalisation = {};

  /// {"classes": [...], "mean": [...], "deviation": [...]}.
  std::string to_json() const;
  /// Throws FormatError.
  static ImageInfo from_json(std::string_view json);
};

}  // namespace weft

// Information about images that is stored in vision transformer files: classes and preprocessing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/data/images/image_geometry.h"
#include "weft/models/inputs/image_normalisation.h"

namespace WEFT_API weft {

struct ImageInfo {
  std::vector<std::string> classes = {};  // class names; empty for models without classes
  ImageNormalisation normalisation = {};
  /// Conversion of pictures to the model's image size. Empty in files of earlier versions (see
  /// preprocess_image()).
  std::optional<ImageGeometry> geometry = {};

  /// Returns {"classes": [...], "mean": [...], "deviation": [...], "geometry": {...}}.
  std::string to_json() const;
  /// Throws FormatError if the JSON is invalid.
  static ImageInfo from_json(std::string_view json);
};

}  // namespace weft

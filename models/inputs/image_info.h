// Information about training images that is stored in vision transformer files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/models/inputs/image_normalisation.h"

namespace WEFT_API weft {

struct ImageInfo {
  std::vector<std::string> classes = {};  // class names; empty for models without classes
  ImageNormalisation normalisation = {};

  /// Returns {"classes": [...], "mean": [...], "deviation": [...]}.
  std::string to_json() const;
  /// Throws FormatError if the JSON is invalid.
  static ImageInfo from_json(std::string_view json);
};

}  // namespace weft

// What Hugging Face's library does to images before its models see them.
#pragma once

#include <string>

#include "weft/models/trained/image_normalisation.h"

namespace WEFT_API weft {

/// The normalisation that a preprocessor_config.json describes. The library's images have values in
/// [0, 255], which it multiplies by rescale_factor before it takes the mean away; Weft's have
/// values in [0, 1]. Throws IoError, FormatError.
ImageNormalisation read_normalisation(const std::string& path, std::int64_t channels);

}  // namespace weft

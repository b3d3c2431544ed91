// Image preprocessing settings in Hugging Face folders.
#pragma once

#include <string>

#include "weft/models/inputs/image_normalisation.h"

namespace WEFT_API weft {

/// Returns the normalisation specified by a preprocessor_config.json, converted to pixel values in
/// [0, 1]. In transformers, pixel values are in [0, 255] and are multiplied by rescale_factor
/// before the mean is subtracted. Throws IoError if the file cannot be read and FormatError if it
/// is invalid.
ImageNormalisation read_normalisation(const std::string& path, std::int64_t channels);

}  // namespace weft

// Image preprocessing settings in Hugging Face folders.
#pragma once

#include <string>
#include <string_view>

#include "weft/models/hf/folder.h"
#include "weft/models/inputs/image_info.h"

namespace WEFT_API weft {

/// Name of the file with the image preprocessing settings.
inline constexpr const char* kPreprocessorFile = "preprocessor_config.json";

/// Returns the normalisation and the geometry specified by `text`, the contents of the
/// preprocessor_config.json at `path`, for a model of type `model_type` with image size `size`. The
/// normalisation is converted to pixel values in [0, 1]: in transformers, pixel values are in [0,
/// 255] and are multiplied by rescale_factor before the mean is subtracted.
///
/// Missing keys have the defaults of the image processor class that the file names, or otherwise of
/// the class for `model_type`. If the file has neither size nor crop_size, and the sizes of the
/// class do not match the model, pictures are resized to the size of the model.
///
/// All resizing is computed with the 8-bit arithmetic of PIL, also for the classes ...Fast, which
/// use torchvision: its pixels differ by the rounding of single values.
///
/// Throws FormatError if the text is invalid, and ArgumentError for a setting that is not
/// supported, or if the result does not have the size of the model.
ImageInfo read_preprocessor(std::string_view text, const std::string& path,
                            const std::string& model_type, const ImageSize& size);

/// Returns the preprocessing of the model in a folder. Throws FormatError if there is no
/// preprocessor_config.json, and the same exceptions as read_preprocessor().
ImageInfo folder_preprocessing(const hf::Folder& folder, const ImageSize& size);

/// Returns a preprocessor_config.json with which transformers computes the same pixels. Images
/// without a geometry are written with default_geometry().
std::string preprocessor_json(const ImageInfo& images, const ImageSize& size);

}  // namespace weft

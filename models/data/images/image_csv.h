// Reads images from tables of numbers.
#pragma once

#include <string>
#include <string_view>

#include "weft/models/data/images/image_set.h"

namespace WEFT_API weft {

/// The layout of an image table.
struct ImageCsvOptions {
  std::int64_t height = 0, width = 0;  // 0 = the images are square
  std::int64_t highest = 16;           // the value of a white pixel; black is 0
  bool label_first = false;            // true if the class precedes the pixels
};

/// Parses images with one channel (the format of optdigits and of the scikit-learn digits). Each
/// line contains height * width integers in [0, highest] and the class, a non-negative integer,
/// separated by commas. Classes are named "0", "1", ... up to the highest class. `name` identifies
/// the source of the text in error messages. Throws FormatError with line and byte offset.
ImageSet parse_image_csv(std::string_view text, std::string_view name,
                         const ImageCsvOptions& options = {});

/// Reads a file and parses it as parse_image_csv() does. Also throws IoError.
ImageSet read_image_csv(const std::string& path, const ImageCsvOptions& options = {});

}  // namespace weft

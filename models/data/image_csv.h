// Images as lines of numbers.
#pragma once

#include <string>
#include <string_view>

#include "weft/models/data/image_set.h"

namespace WEFT_API weft {

/// How a table of images is written.
struct ImageCsvOptions {
  std::int64_t height = 0, width = 0;  // 0: the images are square
  std::int64_t highest = 16;           // value of a white pixel; 0 is black
  bool label_first = false;            // the class stands before the pixels, not after them
};

/// Images with one channel from lines of height * width integers 0 ... highest and the class, an
/// integer from 0 on, with commas between them (optdigits, the digits of scikit-learn). Classes are
/// "0", "1", ... up to the highest that occurs. `name` says in messages where the text is from.
/// Throws FormatError with line and byte offset.
ImageSet parse_image_csv(std::string_view text, std::string_view name,
                         const ImageCsvOptions& options = {});

/// The same from a file. Throws IoError, FormatError.
ImageSet read_image_csv(const std::string& path, const ImageCsvOptions& options = {});

}  // namespace weft

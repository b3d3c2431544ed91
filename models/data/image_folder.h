// Data sets of images as they lie on disk.
#pragma once

#include <string>

#include "weft/models/data/image_set.h"

namespace WEFT_API weft {

/// Images of a folder that has a folder per class, whose name is the class's: PNG, JPEG and BMP
/// files (by their endings, .png .jpg .jpeg .bmp in any case; other files are left alone), fitted
/// to `size` as fit_image does. Classes and files are taken in the order of their names' bytes.
/// Throws IoError, FormatError (also for a class without images, and where there are no classes).
ImageSet read_image_folder(const std::string& path, const ImageSize& size);

/// A set to learn from and another to be measured on.
struct ImageData {
  ImageSet train, test;
  std::string about;  // where the test set is from: "t10k-images-idx3-ubyte.gz", "a tenth of ..."
};

/// Reads whatever of these is at `path`, fitted to `size`:
///   a folder with MNIST's names (train-images-idx3-ubyte, t10k-..., each with or without .gz):
///     both; or one of them, of which the last tenth is the test set;
///   a folder with a .tra and a .tes file (optdigits);
///   a folder with folders `train` and `test` (or `val`), each with a folder per class;
///   a folder with a folder per class: a tenth of every class, drawn by `seed`, is the test set;
///   a .csv file as read_image_csv takes it: its last tenth is the test set.
/// Throws IoError, FormatError that says what is wanted.
ImageData load_image_data(const std::string& path, const ImageSize& size, std::uint64_t seed);

}  // namespace weft

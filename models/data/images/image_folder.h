// Loads image data sets from folders and files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/models/data/images/image_geometry.h"
#include "weft/models/data/images/image_set.h"

namespace WEFT_API weft {

/// Reads a folder with one subfolder per class. The subfolder names are the class names. Images are
/// PNG, JPEG and BMP files with the extensions .png, .jpg, .jpeg and .bmp in upper or lower case;
/// other files are ignored. The images are converted with preprocess_image(). Classes and files are
/// in byte order of their names. Throws IoError. Throws FormatError if an image cannot be decoded,
/// if a class has no images, or if there are no classes. Throws DataError if `geometry` does not
/// result in `size`.
ImageSet read_image_folder(const std::string& path, const ImageSize& size,
                           const std::optional<ImageGeometry>& geometry = {});

/// Returns the paths of the image files in a folder and its subfolders, in byte order of their
/// paths. Throws IoError if the folder cannot be read, and DataError if it contains no images.
std::vector<std::string> image_files(const std::string& folder);

/// A training set and a test set.
struct ImageData {
  ImageSet train, test;
  /// Describes the source of the test set, for example "t10k-images-idx3-ubyte.gz" or "a tenth of
  /// every class, selected with seed 1".
  std::string about;
};

/// Reads the data set at `path` and converts the images with preprocess_image(). `path` may be:
///   a folder with MNIST files (train-images-idx3-ubyte, t10k-..., each with or without .gz);
///     if only one of the two sets is present, its last tenth is the test set;
///   a folder with a .tra and a .tes file (optdigits);
///   a folder with folders `train` and `test` (or `val`), which contain one folder per class;
///   a folder with one folder per class; a tenth of each class (selected by `seed`) is the test
///   set; a .csv file in the format of read_image_csv(); its last tenth is the test set.
/// Throws IoError. Throws FormatError with a description of the expected contents.
ImageData load_image_data(const std::string& path, const ImageSize& size, std::uint64_t seed,
                          const std::optional<ImageGeometry>& geometry = {});

}  // namespace weft

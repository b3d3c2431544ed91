// Images with captions, for training and evaluating models that compare images and texts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/models/data/images/image_geometry.h"
#include "weft/models/data/images/image_set.h"

namespace WEFT_API weft {

struct ImageCaptions {
  /// The images, converted to one size. Labels are the indices of their captions.
  ImageSet images;
  std::vector<std::string> captions;

  std::int64_t size() const { return std::ssize(captions); }
};

/// Reads UTF-8 files with lines of the form "image file <tab> caption". Relative paths of images
/// are relative to the folder of the file. Blank lines are dropped. Images are read with
/// read_image() and converted with preprocess_image(). Throws the same exceptions as these,
/// IoError, and FormatError with file and line if a line has another form, a caption is empty or a
/// file has no lines.
ImageCaptions read_image_captions(std::span<const std::string> paths, const ImageSize& size,
                                  const std::optional<ImageGeometry>& geometry = {});

/// A training set and a held-out set.
struct ImageCaptionsSplit {
  ImageCaptions train, held_out;
};
/// Holds out about `fraction` of the lines, selected at random with `seed`. The order of the lines
/// is kept. Throws ArgumentError unless 0 <= fraction < 1, and DataError if there are too few
/// lines.
ImageCaptionsSplit hold_out(const ImageCaptions& all, double fraction, std::uint64_t seed);

}  // namespace weft

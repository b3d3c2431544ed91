// The geometry of image preprocessing: how pictures of any size become images of a model's size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/models/data/images/image_resize.h"
#include "weft/models/data/images/image_set.h"
#include "weft/models/fields/field_list.h"

namespace WEFT_API weft {

/// Resizing and cropping as in the image processors of Hugging Face transformers, with the same
/// rounding. The steps are applied in this order; a size of 0 means that its step is skipped.
struct ImageGeometry {
  /// Resizes to this size, which changes the aspect ratio.
  std::int64_t height = 0, width = 0;
  /// Resizes the shorter edge to this length and keeps the aspect ratio. If this makes the longer
  /// edge longer than `longest_edge` (0 = no limit), resizes the longer edge to that length.
  std::int64_t shortest_edge = 0, longest_edge = 0;
  Interpolation filter = Interpolation::bilinear;
  /// Crops the centre of this size. Black pixels are added to smaller images.
  std::int64_t crop_height = 0, crop_width = 0;
  bool flip_channels = false;  // exchanges red and blue

  /// Throws ArgumentError for negative sizes, for contradictory ones, and for sizes above 65535.
  void check() const;
  /// All fields with their help texts.
  static const FieldList<ImageGeometry>& fields();
  friend bool operator==(const ImageGeometry&, const ImageGeometry&) = default;

  /// Returns the size of the result for pictures of any size, as "224 x 224". Returns an empty
  /// string if it depends on the picture.
  std::string fixed_size() const;
  /// Returns the same steps for models with image size `to` instead of `from`: all sizes are
  /// scaled.
  ImageGeometry scaled(const ImageSize& from, const ImageSize& to) const;
};

/// Returns the geometry of models that are trained by Weft. For square images, the shorter edge is
/// resized and the centre is cropped. Other images are resized to their size.
ImageGeometry default_geometry(const ImageSize& size);

/// Converts an image, f32 [channels, height, width] with values in [0, 1], to `size`. Resizing
/// rounds pixels to 8 bits as PIL does. Without a geometry, as in model files of earlier versions,
/// returns fit_image(). `name` identifies the image in error messages. Throws ShapeError if the
/// channels cannot be converted, and DataError if the geometry results in another size.
Tensor preprocess_image(const Tensor& image, const ImageSize& size,
                        const std::optional<ImageGeometry>& geometry, std::string_view name);

}  // namespace weft

// Geometric and value transforms of single images, which are f32 [channels, height, width]. Every
// function returns a new image and throws ShapeError if a tensor is not an image.
#pragma once

#include <cstdint>

#include "weft/core/tensor.h"
#include "weft/models/data/images/image_resize.h"

namespace WEFT_API weft {

/// Returns the part of the image with size [height, width] and the upper left corner at (top,
/// left). Pixels outside the image are set to `fill`.
Tensor crop_image(const Tensor& image, std::int64_t top, std::int64_t left, std::int64_t height,
                  std::int64_t width, float fill = 0);
/// Returns the central part of the image with size [height, width]. If a margin is odd, half of it
/// is rounded to even, as in torchvision.
Tensor center_crop(const Tensor& image, std::int64_t height, std::int64_t width);
/// Mirrors an image left to right.
Tensor flip_horizontal(const Tensor& image);
/// Returns the upright version of a picture that is stored with an orientation from 1 to 8, as
/// defined by EXIF: 2 mirrored left to right, 3 rotated by 180 degrees, 4 mirrored top to bottom,
/// 5 transposed, 6 rotated to the left, 7 transposed along the other diagonal, 8 rotated to the
/// right. Returns the image itself for 1 and for other values.
Tensor oriented(const Tensor& image, int orientation);

/// A similarity transform around the centre of an image.
struct Affine {
  double degrees = 0;          // counter-clockwise rotation
  double scale = 1;            // scale factor
  double down = 0, right = 0;  // shift in pixels
};
/// Transforms an image with bilinear interpolation. Pixels outside the image count as 0. If the
/// transform is only a shift by whole pixels, the pixels are copied exactly.
Tensor transform_image(const Tensor& image, const Affine& affine);

/// Converts 3 channels to 1 (Rec. 601 luma), or 1 channel to 3 by repetition. Throws ShapeError for
/// other numbers of channels.
Tensor to_channels(const Tensor& image, std::int64_t channels);

/// Fits an image of any size to [channels, height, width]. The image is resized to the smallest
/// size that covers the target, and the centre is cropped. Returns the image itself if it already
/// has this size.
Tensor fit_image(const Tensor& image, std::int64_t channels, std::int64_t height,
                 std::int64_t width);

}  // namespace weft

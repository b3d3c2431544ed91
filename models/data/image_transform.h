// Geometric and value transforms of single images, f32 [channels, height, width]. Every function
// returns a new image and throws ShapeError for a tensor that is not an image.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// Kernels of resize_image(): a triangle of half-width 1, or Keys's cubic of half-width 2 with a =
/// -0.5.
enum class Interpolation : std::uint8_t { bilinear, bicubic };

/// Resizes as PIL and torchvision with antialias do: pixel centres are at half-integers, and the
/// kernel is stretched if the image shrinks, so that every pixel contributes. Values stay floats
/// (PIL rounds to 8 bits after each axis), and the cubic kernel may overshoot [0, 1].
Tensor resize_image(const Tensor& image, std::int64_t height, std::int64_t width,
                    Interpolation interpolation = Interpolation::bilinear);

/// Returns the part of size [height, width] whose upper left corner is at (top, left). Pixels
/// outside the image are set to `fill`.
Tensor crop_image(const Tensor& image, std::int64_t top, std::int64_t left, std::int64_t height,
                  std::int64_t width, float fill = 0);
/// Returns the central part of size [height, width]. Half of an odd margin is rounded to even, as
/// in torchvision.
Tensor center_crop(const Tensor& image, std::int64_t height, std::int64_t width);
/// Mirrors an image left to right.
Tensor flip_horizontal(const Tensor& image);

/// A similarity transform around the centre of an image.
struct Affine {
  double degrees = 0;          // counter-clockwise rotation
  double scale = 1;            // scale factor
  double down = 0, right = 0;  // shift in pixels
};
/// Transforms with bilinear interpolation. Pixels outside the image count as 0. A shift by whole
/// pixels alone copies the pixels exactly.
Tensor transform_image(const Tensor& image, const Affine& affine);

/// Converts 3 channels to 1 by luma (Rec. 601), and 1 to 3 by repetition. Throws ShapeError for
/// other numbers.
Tensor to_channels(const Tensor& image, std::int64_t channels);

/// Fits an image of any size to [channels, height, width]: resizes it to just cover that size and
/// takes the centre. Returns the image itself if it has that size.
Tensor fit_image(const Tensor& image, std::int64_t channels, std::int64_t height,
                 std::int64_t width);

/// Returns (image - mean) / deviation with one number per channel each. Throws ShapeError if their
/// number differs.
Tensor normalise_image(const Tensor& image, const std::vector<double>& mean,
                       const std::vector<double>& deviation);

}  // namespace weft

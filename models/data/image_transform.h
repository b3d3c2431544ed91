// Geometry and values of single images, f32 [channels, height, width]. Every function returns a new
// image and throws ShapeError for a tensor that is no image.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// Kernels of resize_image: a triangle of half-width 1; Keys's cubic of half-width 2, a = -0.5.
enum class Interpolation : std::uint8_t { bilinear, bicubic };

/// Resizes as PIL does, and torchvision with antialias: pixel centres are at half-integers, and the
/// kernel is stretched where the image shrinks, so that every pixel counts. Values stay floats
/// (PIL rounds to 8 bits after each axis), and the cubic may overshoot [0, 1].
Tensor resize_image(const Tensor& image, std::int64_t height, std::int64_t width,
                    Interpolation interpolation = Interpolation::bilinear);

/// The part of [height, width] whose upper left corner is at (top, left). What lies outside the
/// image is `fill`.
Tensor crop_image(const Tensor& image, std::int64_t top, std::int64_t left, std::int64_t height,
                  std::int64_t width, float fill = 0);
/// The middle of [height, width]; an odd margin's halves round to even, as in torchvision.
Tensor center_crop(const Tensor& image, std::int64_t height, std::int64_t width);
/// Mirrored: left is right.
Tensor flip_horizontal(const Tensor& image);

/// What an image becomes around its centre.
struct Affine {
  double degrees = 0;          // turned counter-clockwise
  double scale = 1;            // and larger by this factor
  double down = 0, right = 0;  // and moved by so many pixels
};
/// Bilinear; what comes from outside is 0. Whole moves alone copy the pixels exactly.
Tensor transform_image(const Tensor& image, const Affine& affine);

/// 1 channel from 3 by luma (Rec. 601), 3 from 1 by repeating. ShapeError for other numbers.
Tensor to_channels(const Tensor& image, std::int64_t channels);

/// An image of any size for a model of images [channels, height, width]: resized so that it just
/// covers them, the middle of it. The image itself where it fits.
Tensor fit_image(const Tensor& image, std::int64_t channels, std::int64_t height,
                 std::int64_t width);

/// (image - mean) / deviation, a number per channel each (ShapeError).
Tensor normalise_image(const Tensor& image, const std::vector<double>& mean,
                       const std::vector<double>& deviation);

}  // namespace weft

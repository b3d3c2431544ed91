// Resizing of images with the filters of Pillow.
#pragma once

#include <cstdint>

#include "weft/core/tensor.h"
#include "weft/models/fields/choice.h"

namespace WEFT_API weft {

/// Filters for resizing, with the names and numbers of PIL.Image.Resampling. nearest copies single
/// pixels. The other filters are weighted sums over a window: a box of half-width 0.5, a triangle
/// of half-width 1 (bilinear), a raised cosine times sinc of half-width 1 (hamming), Keys's cubic
/// kernel with a = -0.5 of half-width 2 (bicubic), and a windowed sinc of half-width 3 (lanczos).
enum class Interpolation : std::uint8_t { nearest, lanczos, bilinear, bicubic, box, hamming };
ChoiceNames choice_names(Interpolation interpolation);

/// Resizes an image, f32 [channels, height, width], in the same way as PIL resizes images of mode
/// F, and as torchvision with antialias. Pixel centres are at half-integer positions. If the image
/// shrinks, the kernel is stretched so that every pixel contributes. Values stay floats. With the
/// bicubic and lanczos filters, values may exceed the range [0, 1]. Throws ShapeError if the tensor
/// is not an image, and ArgumentError if the size is below 1 x 1.
Tensor resize_image(const Tensor& image, std::int64_t height, std::int64_t width,
                    Interpolation interpolation = Interpolation::bilinear);

/// Same as resize_image(), but with the 8-bit arithmetic of PIL for pictures (modes L and RGB):
/// pixels are rounded to multiples of 1/255 before the first pass and after each pass. Returns
/// exactly the pixels of PIL, divided by 255.
Tensor resize_image_8bit(const Tensor& image, std::int64_t height, std::int64_t width,
                         Interpolation interpolation);

}  // namespace weft

// Encodes images as PNG.
#pragma once

#include <string>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// Encodes an image f32 [channels, height, width] with 1 (grey) or 3 (RGB) channels as a PNG file
/// with 8 bits per channel. Values are multiplied by 255, rounded and clamped to [0, 255]; NaN is
/// 0. decode_image() is the inverse. Throws DTypeError or ShapeError for other tensors.
std::string encode_png(const Tensor& image);

}  // namespace weft

// Decodes PNG, JPEG and BMP files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// Maximum number of pixels in a decoded image. A limit is necessary because a file of a few bytes
/// may declare any size.
inline constexpr std::int64_t kMaxPixels = std::int64_t{1} << 26;

/// Decodes a PNG, JPEG or BMP file to f32 [channels, height, width] with values in [0, 1] (8 bits
/// per channel; 16 bits are reduced to 8). With 1 channel, the image is grey (Rec. 601 luma, as
/// computed by PIL); with 3 channels, it is RGB. Alpha is dropped. The image is upright: the EXIF
/// orientation of JPEG and PNG files is applied. `name` identifies the source of the bytes in error
/// messages. Throws FormatError if the file cannot be decoded, with the byte offset if the file is
/// truncated or a checksum does not match. Throws ArgumentError if `channels` is neither 1 nor 3.
Tensor decode_image(std::string_view bytes, std::int64_t channels, std::string_view name);

/// Decodes an image file as decode_image() does. Also throws IoError.
Tensor read_image(const std::string& path, std::int64_t channels);

/// Throws FormatError with the byte offset unless the bytes are a complete PNG, JPEG or BMP file.
/// This check is necessary because decoders return the available part of a truncated file as if it
/// were complete.
void check_image_file(std::string_view bytes, std::string_view name);

}  // namespace weft

// Decodes image files: PNG, JPEG and BMP.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// Maximum number of pixels of a decoded image: a file of a few bytes may claim any size.
inline constexpr std::int64_t kMaxPixels = std::int64_t{1} << 26;

/// Decodes a PNG, JPEG or BMP file to f32 [channels, height, width] with values in [0, 1] (8 bits
/// per channel; 16 bits are reduced to 8). 1 channel is grey (luma of Rec. 601), 3 channels are
/// red, green, blue; alpha is dropped. `name` names the source of the bytes in error messages.
/// Throws FormatError, with the byte offset if the file is truncated or a checksum does not match;
/// ArgumentError for another number of channels.
Tensor decode_image(std::string_view bytes, std::int64_t channels, std::string_view name);

/// As decode_image(), from a file. Throws IoError, FormatError.
Tensor read_image(const std::string& path, std::int64_t channels);

/// Throws FormatError, with the byte offset, unless the bytes are a complete PNG, JPEG or BMP file.
/// Decoders return the available part of a truncated file as if it were complete.
void check_image_file(std::string_view bytes, std::string_view name);

}  // namespace weft

// Image files: PNG, JPEG and BMP.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// Most pixels of an image that is decoded: a file of a few bytes may ask for any size.
inline constexpr std::int64_t kMaxPixels = std::int64_t{1} << 26;

/// The image in a PNG, JPEG or BMP file: f32 [channels, height, width] with values in [0, 1] (8
/// bits per channel; 16 are shortened). 1 channel is grey (luma of Rec. 601), 3 are red, green,
/// blue; transparency is left out. `name` says in messages where the bytes are from. Throws
/// FormatError, with the byte offset of the damage where the file is cut or its checksums fail;
/// ArgumentError for another number of channels.
Tensor decode_image(std::string_view bytes, std::int64_t channels, std::string_view name);

/// The same from a file. Throws IoError, FormatError.
Tensor read_image(const std::string& path, std::int64_t channels);

/// Throws FormatError, with the byte offset, for bytes that are no complete PNG, JPEG or BMP file:
/// decoders show what they got of a cut file as if nothing were missing.
void check_image_file(std::string_view bytes, std::string_view name);

}  // namespace weft

// Reads IDX files, the format of MNIST (Y. LeCun). A file consists of two zero bytes, an element
// type, the number of axes, a big-endian size per axis, and the elements in big-endian order.
#pragma once

#include <string>
#include <string_view>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// Parses an IDX file to a tensor of dtype u8, i8, i32, f32 or f64. `name` identifies the source of
/// the bytes in error messages. Throws FormatError with the byte offset if the type is not
/// supported, if the sizes do not match the file, or if there are extra bytes.
Tensor parse_idx(std::string_view bytes, std::string_view name);

/// Reads a file, which may be compressed with gzip, and parses it as parse_idx() does. Also throws
/// IoError.
Tensor read_idx(const std::string& path);

}  // namespace weft

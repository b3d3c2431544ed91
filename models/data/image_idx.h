// Reads IDX files, the format of MNIST (Y. LeCun): two zero bytes, a type, the number of axes, a
// big-endian size per axis, and the elements, big-endian.
#pragma once

#include <string>
#include <string_view>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// Parses an IDX file to a tensor of dtype u8, i8, i32, f32 or f64. `name` names the source of the
/// bytes in error messages. Throws FormatError with the byte offset for anything else: a wrong
/// type, sizes that do not match the file, extra bytes.
Tensor parse_idx(std::string_view bytes, std::string_view name);

/// As parse_idx(), from a file, which may be compressed with gzip. Throws IoError, FormatError.
Tensor read_idx(const std::string& path);

}  // namespace weft

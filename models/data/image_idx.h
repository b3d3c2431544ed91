// IDX files, the format of MNIST (Y. LeCun): two zero bytes, a type, the number of axes, a
// big-endian size per axis, and the elements, big-endian.
#pragma once

#include <string>
#include <string_view>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// The tensor in an IDX file, of dtype u8, i8, i32, f32 or f64. `name` says in messages where the
/// bytes are from. Throws FormatError with the byte offset for anything else: a wrong type, sizes
/// that do not fit the file, bytes that are left over.
Tensor parse_idx(std::string_view bytes, std::string_view name);

/// The same from a file, which may be packed with gzip. Throws IoError, FormatError.
Tensor read_idx(const std::string& path);

}  // namespace weft

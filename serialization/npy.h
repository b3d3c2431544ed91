// Writer for NumPy .npy files:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <string>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// Magic bytes at the start of a .npy file.
inline constexpr const char* kNpyMagic = "\x93NUMPY";

/// Writes one tensor in version 1.0 of the format, in row-major order. The write is atomic, as for
/// checkpoints. Throws IoError, and DTypeError for a dtype that NumPy does not support (bf16).
void write_npy(const std::string& path, const Tensor& tensor);

}  // namespace weft

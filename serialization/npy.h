// Tensors as NumPy's files: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <string>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// Bytes that such a file begins with.
inline constexpr const char* kNpyMagic = "\x93NUMPY";

/// Writes one tensor, version 1.0 of the format, row by row. Atomic, as checkpoints are. Throws
/// IoError; DTypeError for a dtype that NumPy lacks (bf16).
void write_npy(const std::string& path, const Tensor& tensor);

}  // namespace weft

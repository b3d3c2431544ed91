// NumPy files: .npy (one array) and .npz (a ZIP archive of named arrays).
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <string>

#include "weft/core/tensor.h"
#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {

/// Magic bytes at the start of a .npy file.
inline constexpr const char* kNpyMagic = "\x93NUMPY";

/// Writes one tensor in version 1.0 of the format, in row-major order. The write is atomic, as for
/// checkpoints. Throws IoError, and DTypeError for a dtype that NumPy does not support (bf16).
void write_npy(const std::string& path, const Tensor& tensor);
/// Reads one array of any version of the format. Throws FormatError, with path and byte offset, for
/// a damaged header, a dtype that Weft does not have (the message names it), big-endian data or
/// column-major data; IoError if the file cannot be read.
Tensor read_npy(const std::string& path);

/// Writes the tensors as members NAME.npy of an uncompressed archive, which numpy.load() reads. The
/// write is atomic, as for checkpoints. Throws the errors of write_npy(); the message names the
/// tensor.
void write_npz(const std::string& path, const TensorMap& tensors);
/// Reads an archive of numpy.savez() or numpy.savez_compressed() with libzip. Throws the errors of
/// read_npy(), with the name of the member, and FormatError for a member that is no array, that
/// occurs twice or is encrypted.
TensorMap read_npz(const std::string& path);
/// Returns true if the file starts like a ZIP archive of arrays. Throws IoError if it cannot be
/// opened.
bool is_npz(const std::string& path);

}  // namespace weft

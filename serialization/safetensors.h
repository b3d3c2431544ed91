// safetensors files: read strictly, written so that every other reader accepts them.
// Format: https://github.com/huggingface/safetensors (u64 header length, JSON header, data).
#pragma once

#include <map>
#include <memory>
#include <string>

#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {

struct Safetensors {
  TensorMap tensors;
  std::map<std::string, std::string> metadata;  // the header's "__metadata__"
};

/// Maps a file; the tensors are read-only views of it. Strict as the reference implementation:
/// header of at most 100 MB that starts with '{', no name twice, sizes whose product fits, data
/// without holes or overlap that ends with the file. Data that is not aligned to its element size
/// is copied. Throws FormatError with path and byte offset; DTypeError that names the tensor for a
/// dtype that Weft lacks (it has F64 F32 F16 BF16 I64 I32 I8 U8 BOOL); IoError.
Safetensors read_safetensors(const std::string& path);

/// Writes the tensors in order of element size (largest first), then of name, so that all data is
/// aligned; header padded with blanks to a multiple of 8. Atomic, as checkpoints are.
void write_safetensors(const std::string& path, const TensorMap& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace weft

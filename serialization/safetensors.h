// Strict reader for safetensors files, and a writer whose files all other readers accept. Format:
// https://github.com/huggingface/safetensors (u64 header length, JSON header, data).
#pragma once

#include <map>
#include <string>

#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {

struct Safetensors {
  TensorMap tensors;
  std::map<std::string, std::string> metadata;  // the header's "__metadata__"
};

/// Maps a file; the tensors are read-only views of it. As strict as the reference implementation:
/// the header has at most 100 MB and starts with '{', names are unique, the product of sizes does
/// not overflow, and the data has no gaps or overlaps and ends at the end of the file. Data that is
/// not aligned to its element size is copied. Throws FormatError with path and byte offset,
/// DTypeError with the tensor's name for an unsupported dtype (supported: F64 F32 F16 BF16 I64 I32
/// I8 U8 BOOL), and IoError.
Safetensors read_safetensors(const std::string& path);

/// Writes tensors sorted by element size (largest first) and then by name, so that all data is
/// aligned. The header is padded with spaces to a multiple of 8 bytes. The write is atomic, as for
/// checkpoints.
void write_safetensors(const std::string& path, const TensorMap& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace weft

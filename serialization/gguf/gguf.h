// The GGUF container: metadata and tensors in one file, as llama.cpp reads and writes them. Format:
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
//
// This folder knows nothing about models; models/gguf maps names and metadata to models.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/serialization/gguf/ggml_type.h"
#include "weft/serialization/gguf/metadata.h"

namespace WEFT_API weft {

/// The maximum number of axes of a tensor (GGML_MAX_DIMS).
inline constexpr std::size_t kMaxGgufAxes = 4;

/// A tensor in the encoding of a GGUF file.
struct GgufTensor {
  std::string name;
  GgmlType type = GgmlType::f32;
  /// Outermost axis first, as everywhere in Weft: a matrix is [outputs, inputs]. The file lists
  /// the axes in reverse order. The blocks are along the last axis.
  Sizes sizes;
  /// u8 [bytes]: the blocks of all rows. For a file that was read, a view of the mapped file.
  Tensor data;
};

struct GgufFile {
  std::string path;
  GgufMetadata metadata;
  std::vector<GgufTensor> tensors;  // in the order of the file

  /// Returns the tensor with this name, or null.
  const GgufTensor* find(std::string_view name) const;
};

/// Maps a file; only its header is read. Reads versions 2 and 3, little-endian. If the file is the
/// first part of a split model (NAME-00001-of-00003.gguf), the other parts are mapped as well and
/// their tensors are appended. Tensors may be in any order and may have gaps between them.
/// Throws FormatError, with path and byte offset,
/// - for a file of another format, version or byte order, and for a later part of a split model;
/// - for a truncated file, a header of more than 100 MB, an array of more than 2^24 elements or of
///   arrays, an invalid UTF-8 key or name, and a key or tensor name that occurs twice;
/// - for a tensor with more than 4 axes, a size out of range, a row that is not a whole number of
///   blocks, a type that Weft does not read (the message lists those that it reads), an offset that
///   is not aligned, or data that overlaps other tensors or is outside the file.
/// Throws IoError if a file cannot be read.
GgufFile read_gguf(const std::string& path);

/// Writes a GGUF file of version 3. The tensors are stored in the given order, aligned to
/// general.alignment (32 bytes if the metadata does not set it). The write is atomic, as for
/// checkpoints. Throws ArgumentError, naming the key or the tensor, if a name occurs twice, is
/// longer than 63 bytes (llama.cpp's limit) or is not valid UTF-8, if general.alignment is not a
/// power of two in [8, 2^16], or if the data of a tensor does not have the size that its type and
/// sizes require; IoError if the file cannot be written.
void write_gguf(const std::string& path, const GgufMetadata& metadata,
                const std::vector<GgufTensor>& tensors);

}  // namespace weft

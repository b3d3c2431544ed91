// Reads tensors from any supported weights file.
#pragma once

#include <string>

#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {

/// Returns the weights in a file or folder by name, as views of mapped files, which are read on
/// first use.
///   FILE.weft parameters and buffers, also under their aliases; the graph
///                                    may contain unknown ops
///   FILE.safetensors
///   FILE.safetensors.index.json      the shards in the same folder
///   FOLDER                           its model.safetensors or model.safetensors.index.json, else
///                                    its only index, else its only safetensors file
/// Throws IoError if there are no weights (with a hint if they are in PyTorch's own format), and
/// FormatError, with path and offset, for damaged files and for a tensor that is in two shards.
TensorMap read_tensors(const std::string& path);

}  // namespace weft

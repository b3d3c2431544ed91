// Tensors of whatever file weights come in.
#pragma once

#include <string>

#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {

/// The weights in a file or folder, by name; views of mapped files, which are read when they are
/// first used.
///   FILE.weft                        its parameters and buffers, also under their aliases; its
///                                    graph need not be one that this program can read
///   FILE.safetensors
///   FILE.safetensors.index.json      the shards that lie beside it
///   FOLDER                           its model.safetensors or model.safetensors.index.json
/// Throws IoError where there is none (weights in
/// PyTorch's own format are an IoError that says so), FormatError with path and offset for what is
/// damaged, and for a tensor that is in two shards.
TensorMap read_tensors(const std::string& path);

}  // namespace weft

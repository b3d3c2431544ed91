// Files of named tensors: safetensors and NumPy archives.
#pragma once

#include <string>

#include "weft/models/program/files/paths.h"
#include "weft/serialization/checkpoint.h"

namespace weft::program {

/// Returns true for a safetensors file or a NumPy archive. Throws IoError if it cannot be opened.
bool is_tensor_file(const std::string& path);
/// Reads a file of either format. Throws the errors of read_safetensors() and read_npz().
TensorMap read_tensor_file(const std::string& path);

/// Returns true if a file of this name is a file of tensors: NAME.safetensors or NAME.npz.
bool has_tensor_ending(const std::string& path);
/// Plans a file of tensors. The ending determines the format, which is safetensors by default.
OutputFile plan_tensor_file(CommandPaths& paths, const std::string& what, const std::string& path);
/// Writes a planned file.
void write_tensor_file(const OutputFile& file, const TensorMap& tensors);

}  // namespace weft::program

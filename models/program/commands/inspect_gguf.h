// Describes a GGUF file.
#pragma once

#include <string>

namespace weft::program {

/// Prints the config, the metadata and the types of the tensors of a model in a GGUF file, or, if
/// `tensors` is true, the tensors. Returns the exit code.
int inspect_gguf(const std::string& path, bool tensors);

}  // namespace weft::program

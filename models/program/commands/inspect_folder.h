// Describes a Hugging Face folder without reading its weights.
#pragma once

#include "weft/models/fields/model_path.h"

namespace weft::program {

/// Prints the class of the model and the number, elements and bytes of its tensors by dtype, or,
/// with `tensors`, the type and name of every tensor. Reads only config.json and the headers of the
/// weight files, unless ModelPath::verify is set. Returns the exit code.
int inspect_folder(const ModelPath& path, bool tensors);

}  // namespace weft::program

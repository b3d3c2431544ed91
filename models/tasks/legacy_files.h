// Model files written by the first versions, which do not record the task of their model.
#pragma once

#include <string>

#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {

/// Infers the task id of the model in a file from the type of its config, its programs and its
/// training options. Returns "" if the file contains no trained model.
std::string legacy_task(const Checkpoint& file);

}  // namespace weft

// Check before a model is written to a Hugging Face folder.
#pragma once

#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace hf {

/// Throws IoError if a model folder must not be written to `path`: the path exists and is not a
/// folder, or it is a folder that is neither empty nor a model folder (it lacks config.json). A
/// model folder that also contains other files, which would be lost, is replaced only with `force`.
void check_folder_target(const std::string& path, bool force = false);

}  // namespace hf
}  // namespace weft

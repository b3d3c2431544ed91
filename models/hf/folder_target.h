// Checks the target path before a model is written to a Hugging Face folder.
#pragma once

#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace hf {

/// Throws IoError if a model folder must not be written to `path`. This is the case if the path
/// exists and is not a folder, or if it is a folder that is neither empty nor a model folder (a
/// folder with a config.json or an adapter_config.json). If a model folder also contains other
/// files, which would be lost, it is replaced only if `force` is set.
void check_folder_target(const std::string& path, bool force = false);

}  // namespace hf
}  // namespace weft

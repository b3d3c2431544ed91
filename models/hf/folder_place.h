// Where a model may be written as a folder of Hugging Face's library.
#pragma once

#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace hf {

/// Throws IoError where a model's folder must not be written: where something is there that is no
/// folder, or a folder that is neither empty nor a model's (it lacks config.json). A model's folder
/// that holds files besides those of models, which would be lost, may be replaced by `force` only.
void check_folder_place(const std::string& path, bool force = false);

}  // namespace hf
}  // namespace weft

// Image classification: weft train vit --task classify.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Returns the task "classify" for vision transformers.
const Task& image_classification_task();

}  // namespace weft

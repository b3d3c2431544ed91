// Image classification: weft train vit --task classify.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// The task "classify" of vision transformers.
const Task& image_classification_task();

}  // namespace weft

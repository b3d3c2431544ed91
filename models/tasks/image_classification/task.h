// Image classification: weft train vit --task classify, weft train swin.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Returns the task "classify" for vision transformers.
const Task& image_classification_task();
/// As above, for Swin transformers.
const Task& swin_classification_task();

}  // namespace weft

// Pre-training on images without labels: weft train vit --task masked-image.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Returns the task "masked-image" for vision transformers.
const Task& masked_image_task();

}  // namespace weft

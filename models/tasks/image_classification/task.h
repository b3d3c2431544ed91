// weft train vit --task classify: classes of images.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

const Task& image_classification_task();

}  // namespace weft

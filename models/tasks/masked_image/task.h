// weft train vit --task masked-image: pre-training on images without labels.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

const Task& masked_image_task();

}  // namespace weft

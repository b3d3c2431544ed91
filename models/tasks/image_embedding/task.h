// Image embeddings by vision models without a head.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Returns the image embedding task. Its from_folder() accepts any class that reads only images, so
/// it must be tried after the tasks that recognise specific heads.
const Task& image_embedding_task();

}  // namespace weft

// Contrastive training of models that compare images and texts.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Returns the task "image-text": weft train image-text --data captions.tsv.
const Task& image_text_task();

}  // namespace weft

// Encoders without a head, or with one that nothing else uses: vectors of texts.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Of folders it takes every class of an encoder, and so stands behind the tasks that know heads.
const Task& text_embedding_task();

}  // namespace weft

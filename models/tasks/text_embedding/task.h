// Text embeddings: weft train encoder --task embedding.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Returns the task "embedding": train a text encoder on queries and passages. Its from_folder()
/// accepts any encoder class, so it must be tried after the tasks that recognise specific heads.
const Task& text_embedding_task();

}  // namespace weft

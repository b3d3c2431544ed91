// Text embeddings by encoders without a head, or with a head that no other task supports.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Returns the text embedding task. Its from_folder() accepts any encoder class, so it must be
/// tried after the tasks that recognise specific heads.
const Task& text_embedding_task();

}  // namespace weft

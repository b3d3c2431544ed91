// Similarity scores for text pairs, or scores for single texts: weft train encoder --task
// similarity.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Returns the task "similarity": predict a score for every text pair or every single text.
const Task& text_similarity_task();

}  // namespace weft

// Similarity scores of pairs of texts, or scores of single texts: weft train encoder --task
// similarity.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// The task "similarity": predict a score for every pair of texts, or for every text.
const Task& text_similarity_task();

}  // namespace weft

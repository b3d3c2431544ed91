// weft train encoder --task similarity: scores of pairs of texts, or of single texts.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

const Task& text_similarity_task();

}  // namespace weft

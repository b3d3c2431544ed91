// Tagging of words, such as named entity recognition: weft train encoder --task tag.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Returns the task "tag": predict a tag for every word.
const Task& token_classification_task();

}  // namespace weft

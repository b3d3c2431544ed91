// weft train encoder --task classify: classes of texts.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace weft {

const Task& text_classification_task();

}  // namespace weft

// weft train encoder --task tag: a tag for every word, named entities say.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

const Task& token_classification_task();

}  // namespace weft

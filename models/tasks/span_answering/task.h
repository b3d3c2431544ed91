// Extractive question answering: weft train encoder --task answer, weft answer.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Returns the task "answer": find the text span that answers a question.
const Task& span_answering_task();

}  // namespace weft

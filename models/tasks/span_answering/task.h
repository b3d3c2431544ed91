// Extractive question answering: weft train encoder --task answer, weft answer.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// The task "answer": find the span of a text that answers a question.
const Task& span_answering_task();

}  // namespace weft

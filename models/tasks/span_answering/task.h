// weft train encoder --task answer, weft answer: the part of a text that answers a question.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

const Task& span_answering_task();

}  // namespace weft

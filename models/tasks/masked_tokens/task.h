// weft train encoder --task mlm|mlm+nsp|mlm+sop|rtd: pre-training of encoders.
#pragma once

#include "weft/models/tasks/common/task.h"
#include "weft/models/tasks/masked_tokens/pretraining_objective.h"

namespace WEFT_API weft {

const Task& masked_tokens_task(PretrainingObjective objective);

}  // namespace weft

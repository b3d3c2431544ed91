// Pre-training of encoders: weft train encoder --task mlm|mlm+nsp|mlm+sop|rtd.
#pragma once

#include "weft/models/tasks/common/task.h"
#include "weft/models/tasks/masked_tokens/pretraining_objective.h"

namespace WEFT_API weft {

/// Returns the task for a pre-training objective. The result is valid until the program ends.
const Task& masked_tokens_task(PretrainingObjective objective);

}  // namespace weft

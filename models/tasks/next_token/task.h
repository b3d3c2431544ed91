// weft train gpt: a language model of a text.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

const Task& next_token_task();
/// Instruction tuning: --task instructions.
const Task& instruction_tuning_task();

}  // namespace weft

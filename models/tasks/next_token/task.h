// weft train gpt: language modelling and instruction tuning.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Returns the language modelling task: --task next-token.
const Task& next_token_task();
/// Returns the instruction tuning task: --task instructions.
const Task& instruction_tuning_task();

}  // namespace weft

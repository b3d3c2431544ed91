// weft train speech: speech recognisers trained on recordings and their texts.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

const Task& transcription_task();

}  // namespace weft

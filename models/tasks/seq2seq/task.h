// weft train seq2seq: encoder-decoders trained on plain text or on text pairs.
#pragma once

#include "weft/models/data/corruption/denoiser.h"
#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

const Task& translation_task();
const Task& denoising_task(DenoisingObjective objective);

}  // namespace weft

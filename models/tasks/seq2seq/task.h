// weft train seq2seq: encoder-decoders that learn from plain text, or from pairs of texts.
#pragma once

#include "weft/models/data/denoiser.h"
#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

const Task& translation_task();
const Task& denoising_task(DenoisingObjective objective);

}  // namespace weft

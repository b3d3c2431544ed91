// weft train encoder --task classify: classes of texts.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

const Task& text_classification_task();
/// Of folders: ...ForSequenceClassification over a decoder, and over an encoder-decoder.
const Task& decoder_classification_task();
const Task& encoder_decoder_classification_task();

}  // namespace weft

// Text classification: weft train encoder --task classify.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Text classification with encoders.
const Task& text_classification_task();
/// Tasks of models that exist as Hugging Face folders only: ...ForSequenceClassification with a
/// decoder, and with an encoder-decoder.
const Task& decoder_classification_task();
const Task& encoder_decoder_classification_task();

}  // namespace weft

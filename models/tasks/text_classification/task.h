// Text classification: weft train encoder --task classify.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Returns the task for text classification with encoders.
const Task& text_classification_task();
/// Return the inference-only tasks for the Hugging Face classes ...ForSequenceClassification with a
/// decoder and with an encoder-decoder.
const Task& decoder_classification_task();
const Task& encoder_decoder_classification_task();

}  // namespace weft

// Sizes of encoders that presets of several tasks share.
#pragma once

#include "weft/models/families/encoder_config.h"

namespace weft {

/// 3 layers of width 128.
EncoderConfig bert_mini();
/// BERT-base, with its dropout.
EncoderConfig bert_base();

}  // namespace weft

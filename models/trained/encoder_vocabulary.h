// What all trained encoders have in common.
#pragma once

#include "weft/models/families/encoder_config.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace weft {

/// Throws ArgumentError where they differ in vocabulary or padding.
void check_vocabulary(const EncoderConfig& config, const Tokenizer& tokenizer);

}  // namespace weft

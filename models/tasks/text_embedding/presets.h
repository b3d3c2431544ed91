// Presets for text encoders that are trained on queries and passages.
#pragma once

#include <vector>

#include "weft/models/families/encoder_config.h"
#include "weft/models/inputs/sentences/contrastive_options.h"
#include "weft/models/training/preset.h"

namespace WEFT_API weft {

struct EmbeddingPreset : Preset<EncoderConfig> {
  ContrastiveOptions options = {};
};

/// Returns the presets. The first is for models that are trained from scratch. The configs of the
/// others are used only if there are no initial weights.
const std::vector<EmbeddingPreset>& text_embedding_presets();

}  // namespace weft

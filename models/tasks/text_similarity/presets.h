// Presets for similarity models.
#pragma once

#include <vector>

#include "weft/models/families/encoder_config.h"
#include "weft/models/tasks/text_similarity/similarity_head.h"
#include "weft/models/training/preset.h"

namespace WEFT_API weft {

struct SimilarityPreset : Preset<EncoderConfig> {
  SimilarityHead head = {};
};

/// Returns the presets. The first is for models that are trained from scratch. The configs of the
/// others are used only if there are no initial weights.
const std::vector<SimilarityPreset>& text_similarity_presets();

}  // namespace weft

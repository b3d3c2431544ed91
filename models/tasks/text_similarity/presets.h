// Models of similarity by name.
#pragma once

#include <vector>

#include "weft/models/families/encoder_config.h"
#include "weft/models/tasks/text_similarity/similarity_head.h"
#include "weft/models/train/preset.h"

namespace WEFT_API weft {

struct SimilarityPreset : Preset<EncoderConfig> {
  SimilarityHead head = {};
};

/// The first is for a model that learns from its own lines alone; the configs of the others count
/// where no trained weights do.
const std::vector<SimilarityPreset>& text_similarity_presets();

}  // namespace weft

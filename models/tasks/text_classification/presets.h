// Presets for text classifiers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/models/families/encoder_config.h"
#include "weft/models/tasks/text_classification/classifier_head.h"
#include "weft/models/training/preset.h"

namespace WEFT_API weft {

struct TextClassifierPreset : Preset<EncoderConfig> {
  ClassifierHead head = {};
  /// True if the number of steps depends on the data: 14 epochs, limited to 12,800 steps or 3
  /// epochs (whichever is more), but at least 400 steps.
  bool steps_from_data = false;

  /// Returns the settings for `texts` training texts and `batch` texts per step.
  TrainSettings training_for(std::int64_t texts, std::int64_t batch) const;
};

/// Returns the presets. The first is for classifiers that are trained from scratch. The others have
/// the same names as pre-training presets; their configs are used only if there are no initial
/// weights.
const std::vector<TextClassifierPreset>& text_classifier_presets();

}  // namespace weft

// Classifiers of texts by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/models/families/encoder_config.h"
#include "weft/models/tasks/text_classification/classifier_head.h"
#include "weft/models/train/preset.h"

namespace WEFT_API weft {

struct TextClassifierPreset : Preset<EncoderConfig> {
  ClassifierHead head = {};
  /// The steps of `training` follow from the data: 14 passes, but at least 400 steps, and of many
  /// texts no more than 12,800 steps or 3 passes.
  bool steps_from_data = false;

  /// For so many texts, `batch` of them per step.
  TrainSettings training_for(std::int64_t texts, std::int64_t batch) const;
};

/// The first is for a classifier that learns from its own texts alone; the others are called as
/// those of pre-training, and their configs count where no trained weights do.
const std::vector<TextClassifierPreset>& text_classifier_presets();

}  // namespace weft

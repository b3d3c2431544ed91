// A .weft file that weft train wrote, whatever kind of model it holds.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "weft/models/train/checkpoint.h"
#include "weft/models/train/image_classifier.h"
#include "weft/models/train/masked_image.h"
#include "weft/models/train/pretraining.h"
#include "weft/models/train/text_classifier.h"
#include "weft/models/train/translator.h"

namespace weft::program {

enum class TrainedKind : std::uint8_t {
  language_model,  // also where the file says nothing that is known: its loader says what is wrong
  pretrained_encoder,
  text_classifier,
  image_classifier,
  masked_images,
  translator,
};
/// Throws IoError, FormatError.
TrainedKind trained_kind(const std::string& path);

/// Calls `use` with the loaded model: it takes any of them. Throws as their loaders.
template <class Use>
int with_trained_model(const std::string& path, Use&& use) {
  switch (trained_kind(path)) {
    case TrainedKind::pretrained_encoder: return use(load_pretraining_model(path));
    case TrainedKind::text_classifier: return use(load_text_classifier(path));
    case TrainedKind::image_classifier: return use(load_image_classifier(path));
    case TrainedKind::masked_images: return use(load_masked_image_model(path));
    case TrainedKind::translator: return use(load_translator(path));
    case TrainedKind::language_model: break;
  }
  return use(load_language_model(path));
}

}  // namespace weft::program

#include "weft/models/program/trained_model.h"

#include "weft/models/train/encoder_file.h"
#include "weft/models/train/image_file.h"

namespace weft::program {

TrainedKind trained_kind(const std::string& path) {
  const Checkpoint file = load_checkpoint(path);
  const std::string kind = config_type(file);
  if (kind == kEncoderConfigType) {
    return file.has_program("classify") ? TrainedKind::text_classifier
                                        : TrainedKind::pretrained_encoder;
  }
  if (kind == kVitConfigType) {
    return holds_masked_image_model(file) ? TrainedKind::masked_images
                                          : TrainedKind::image_classifier;
  }
  if (kind == kTranslatorConfigType) return TrainedKind::translator;
  return TrainedKind::language_model;
}

}  // namespace weft::program

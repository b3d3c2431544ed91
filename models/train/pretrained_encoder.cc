#include "weft/models/train/pretrained_encoder.h"

#include "weft/models/train/encoder_file.h"
#include "weft/models/train/fine_tune.h"

namespace weft {

PretrainedEncoder load_pretrained_encoder(const std::string& path) {
  const ModelFile file(path, kEncoderConfigType, "trained encoder");
  EncoderFile parts = read_encoder_file(file);
  return {parts.config, std::move(parts.tokenizer), pretrained_parameters(path),
          class_names(file.checkpoint())};
}

}  // namespace weft

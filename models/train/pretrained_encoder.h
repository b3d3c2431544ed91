// A trained encoder to start others from.
#pragma once

#include <string>
#include <vector>

#include "weft/models/families/encoder_config.h"
#include "weft/models/tokenizers/sentence_piece.h"
#include "weft/serialization/checkpoint.h"

namespace weft {

struct PretrainedEncoder {
  EncoderConfig config;
  SentencePieceTokenizer tokenizer;
  TensorMap parameters;              // of the encoder and of the heads it has
  std::vector<std::string> classes;  // that a classifier's head knows; empty where none are known
};

/// Of any .weft file with an encoder in it, whatever its task. Throws IoError, FormatError.
PretrainedEncoder load_pretrained_encoder(const std::string& path);

}  // namespace weft

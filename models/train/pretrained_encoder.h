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

/// Of any .weft file with an encoder in it, whatever its task; or of a folder of Hugging Face's
/// library with an encoder of any class and a tokenizer that Weft reads (a byte-pair model of
/// SentencePiece: spiece.model, say). Throws IoError; FormatError that says what was found instead;
/// ArgumentError for a config that is not supported.
PretrainedEncoder load_pretrained_encoder(const std::string& path);

}  // namespace weft

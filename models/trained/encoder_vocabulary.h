// What all trained encoders have in common.
#pragma once

#include "weft/models/families/encoder_config.h"
#include "weft/models/tokenizers/sentence_piece.h"

namespace weft {

inline constexpr const char* kEncoderConfigType = "weft.config.encoder";
inline constexpr const char* kPieceType = "weft.tokenizer.sentence_piece";

/// Throws ArgumentError where they differ in vocabulary or padding.
void check_vocabulary(const EncoderConfig& config, const SentencePieceTokenizer& tokenizer);

}  // namespace weft

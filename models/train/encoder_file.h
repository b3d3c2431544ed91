// What the files of all trained encoders have in common. Internal to models/train.
#pragma once

#include <string>
#include <vector>

#include "weft/models/families/encoder_config.h"
#include "weft/models/tokenizers/sentence_piece.h"
#include "weft/models/train/model_file.h"
#include "weft/models/train/settings.h"

namespace weft {

inline constexpr const char* kEncoderConfigType = "weft.config.encoder";

/// Throws ArgumentError where they differ in vocabulary or padding.
void check_vocabulary(const EncoderConfig& config, const SentencePieceTokenizer& tokenizer);

std::vector<Attachment> encoder_attachments(const EncoderConfig& config,
                                            const SentencePieceTokenizer& tokenizer,
                                            const TrainSettings& settings,
                                            const TrainHistory& history);

struct EncoderFile {
  EncoderConfig config;
  SentencePieceTokenizer tokenizer;
  TrainSettings settings;
  TrainHistory history;
};
/// Names of classes: what a file of a classifier holds besides.
Attachment class_attachment(const std::vector<std::string>& names);
/// Empty where the file has none; FormatError where they are no names of two classes or more.
std::vector<std::string> class_names(const Checkpoint& file);

/// The attachments again. Throws FormatError.
EncoderFile read_encoder_file(const ModelFile& file);

}  // namespace weft

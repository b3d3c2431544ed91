// An encoder that is pre-trained, and what a file of it holds.
#pragma once

#include "weft/models/families/encoder_config.h"
#include "weft/models/tasks/masked_tokens/pretraining_programs.h"
#include "weft/models/tokenizers/tokenizer.h"
#include "weft/models/trained/model.h"

namespace weft {

/// Programs as build_pretraining makes them.
struct PretrainingModel : ModelKind<PretrainingModel> {
  EncoderConfig config;
  Tokenizer tokenizer;
  PretrainingOptions options;  // files of the first versions hid single tokens and do not say so

  static const ModelLayout& file_layout();
  void check() const override;
};

/// A new model that cannot be trained yet, its variables not made. Throws ArgumentError where
/// config and tokenizer differ in vocabulary or padding, and as build_pretraining.
PretrainingModel build_pretraining_model(const EncoderConfig& config, const Tokenizer& tokenizer,
                                         const TrainSettings& settings,
                                         const PretrainingOptions& options = {});

}  // namespace weft

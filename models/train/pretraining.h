// An encoder that is pre-trained, and what a file of it holds.
#pragma once

#include <memory>
#include <string>

#include "weft/graph/run/session.h"
#include "weft/models/families/encoder_config.h"
#include "weft/models/tokenizers/sentence_piece.h"
#include "weft/models/train/pretraining_programs.h"
#include "weft/models/train/settings.h"

namespace weft {

/// Loaded, it needs no model code: the programs come from the file.
struct PretrainingModel {
  std::shared_ptr<Graph> graph;
  PretrainingPrograms programs;
  std::shared_ptr<VariableStore> store;
  EncoderConfig config;
  SentencePieceTokenizer tokenizer;
  PretrainingOptions options;
  TrainSettings settings;
  TrainHistory history;

  /// False for a model without the program "train": its weights were quantised.
  bool can_train() const { return programs.train.graph() != nullptr; }
};

/// A new model, its variables not made yet. Throws ArgumentError where config and tokenizer differ
/// in vocabulary or padding, and as build_pretraining.
PretrainingModel make_pretraining_model(const EncoderConfig& config,
                                        const SentencePieceTokenizer& tokenizer,
                                        const TrainSettings& settings,
                                        const PretrainingOptions& options = {});
/// The file is replaced as a whole or not at all. Throws IoError; StateError where variables are
/// torn.
void save_pretraining_model(const std::string& path, const PretrainingModel& model);
/// Throws IoError; FormatError, also for a .weft file with another model in it.
PretrainingModel load_pretraining_model(const std::string& path);

}  // namespace weft

// An encoder that is pre-trained, and what a file of it holds.
#pragma once

#include <memory>
#include <optional>

#include "weft/models/families/encoder_config.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/tasks/masked_tokens/pretraining_programs.h"
#include "weft/models/tokenizers/folder.h"
#include "weft/models/tokenizers/tokenizer.h"
#include "weft/models/trained/model.h"
#include "weft/models/trained/text_reader.h"

namespace WEFT_API weft {

/// Programs as build_pretraining makes them.
struct PretrainingModel : ModelKind<PretrainingModel> {
  EncoderConfig config;
  Tokenizer tokenizer;
  PretrainingOptions options;  // files of the first versions hid single tokens and do not say so
  std::optional<TextReading> reading;  // of a folder's encoder

  static const ModelLayout& file_layout();
  void check() const override;
};

/// A new model that cannot be trained yet, its variables not made. Throws ArgumentError where
/// config and tokenizer differ in vocabulary or padding, and as build_pretraining.
PretrainingModel build_pretraining_model(const EncoderConfig& config, const Tokenizer& tokenizer,
                                         const TrainSettings& settings,
                                         const PretrainingOptions& options = {});

/// The masked language model in a folder of the library (...ForMaskedLM, BertForPreTraining,
/// AlbertForPreTraining): "evaluate" only, as of the objective mlm. Null where it holds another
/// class. Throws as read_folder_encoder.
std::unique_ptr<PretrainingModel> masked_language_model_of(const hf::Folder& folder,
                                                           const FolderTokenizer& text);

/// The model as a folder of the library has it. Of replaced tokens it is the encoder that finds
/// them, without its generator.
FolderModel folder_model_of(const PretrainingModel& model);

}  // namespace weft

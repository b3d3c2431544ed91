// A pre-trained encoder: its parts in a model file, construction, import and export.
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

/// An encoder with the heads of its objective. Its programs are those of build_pretraining().
struct PretrainingModel : ModelKind<PretrainingModel> {
  EncoderConfig config;
  Tokenizer tokenizer;
  /// Absent from files of the first versions, whose models were trained with the default options:
  /// single tokens were masked.
  PretrainingOptions options;
  std::optional<TextReading> reading;  // for encoders from folders

  /// Returns the layout of the model file.
  static const ModelLayout& file_layout();
  void check() const override;
};

/// Builds a new model. It has no variables yet and is not trainable. Throws ArgumentError if
/// `config` and `tokenizer` differ in vocabulary size or padding id, and the same exceptions as
/// build_pretraining.
PretrainingModel build_pretraining_model(const EncoderConfig& config, const Tokenizer& tokenizer,
                                         const TrainSettings& settings,
                                         const PretrainingOptions& options = {});

/// Returns the masked language model in a Hugging Face folder (classes ...ForMaskedLM,
/// BertForPreTraining and AlbertForPreTraining), or null if the folder holds another class. The
/// model has the program "evaluate" of the objective mlm only. Throws the same exceptions as
/// read_folder_encoder.
std::unique_ptr<PretrainingModel> masked_language_model_of(const hf::Folder& folder,
                                                           const FolderTokenizer& text);

/// Returns the model in Hugging Face layout. For the objective rtd, this is the discriminator
/// without the generator.
FolderModel folder_model_of(const PretrainingModel& model);

}  // namespace weft

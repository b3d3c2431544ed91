// Pre-trained encoders: model file layout, construction, import and export.
#pragma once

#include <memory>

#include "weft/models/hf/folder.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/tasks/masked_tokens/pretraining_programs.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"

namespace WEFT_API weft {

/// An encoder with the heads for its objective. The programs are listed at build_pretraining().
struct PretrainingModel : ModelKind<PretrainingModel, EncoderModel> {
  /// Files written by the first versions lack this part. Their models were trained with the default
  /// options, which mask single tokens.
  PretrainingOptions options;

  /// Returns the layout of the model file.
  static const ModelLayout& file_layout();
  /// Returns the model in Hugging Face layout. For the objective rtd, the result contains only the
  /// discriminator.
  FolderModel to_folder() const;
};

/// Builds a new model. It has no variables yet and is not trainable. Throws ArgumentError if the
/// vocabulary sizes or padding ids of `config` and `tokenizer` differ. Also throws the same
/// exceptions as build_pretraining.
PretrainingModel build_pretraining_model(const EncoderConfig& config, const Tokenizer& tokenizer,
                                         const TrainSettings& settings,
                                         const PretrainingOptions& options = {});

/// Returns the masked language model in a Hugging Face folder (classes ...ForMaskedLM,
/// BertForPreTraining and AlbertForPreTraining), or null if the folder contains another model
/// class. The model has only the program "evaluate" for the objective mlm. Throws the same
/// exceptions as read_folder_encoder.
std::unique_ptr<PretrainingModel> masked_language_model_of(const hf::Folder& folder,
                                                           const FolderTokenizer& text);

}  // namespace weft

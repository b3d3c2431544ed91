// Text classification with decoders and encoder-decoders from Hugging Face folders.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/families/encoder_decoder_config.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/generate/settings.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/tasks/common/uses.h"
#include "weft/models/text/tokenizers/tokenizer.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"
#include "weft/models/training/model.h"

namespace WEFT_API weft {

/// A text classifier of a transformers class ...ForSequenceClassification. With a decoder (GPT-2,
/// LLaMA), the head uses the last token; with an encoder-decoder (BART), it uses the last
/// end-of-text token. The model has one program:
///   classify  Output "log_probabilities" [batch, classes]. Inputs "tokens" and, for
///             encoder-decoders, "mask", both i32 [batch, seq]. The batch size is 1 for decoders
///             without a padding id.
template <class Config>
struct SequenceClassifier : ModelKind<SequenceClassifier<Config>>, TextsClassifier {
  Config config;
  Tokenizer tokenizer;
  std::vector<std::string> classes;
  GenerationSettings generation;  // provides the padding id and the special ids around texts

  /// Returns the layout of the model file.
  static const ModelLayout& file_layout();
  void check() const override;
  /// Returns the model in Hugging Face layout. Throws ArgumentError under the same conditions as
  /// require_origin().
  FolderModel to_folder() const;
  const std::vector<std::string>& class_names() const override { return classes; }
  /// Also throws TextError if a text has no tokens.
  std::vector<TextRow> read_texts(const std::vector<std::string>& texts,
                                  const OnCut& on_cut) const override;
  std::vector<std::vector<double>> class_probabilities(
      Session& session, std::span<const TextRow* const> rows) const override;
};
using DecoderClassifier = SequenceClassifier<GptConfig>;
using EncoderDecoderClassifier = SequenceClassifier<EncoderDecoderConfig>;

/// Returns the classifier in a Hugging Face folder. Returns null if the folder contains no
/// classifier of this family, or if the classifier is a regression model. Throws the same
/// exceptions as Task::from_folder.
template <class Config>
std::unique_ptr<SequenceClassifier<Config>> sequence_classifier_of(const hf::Folder& folder,
                                                                   const FolderTokenizer& text);

}  // namespace weft

// Text classification with decoders and encoder-decoders from Hugging Face folders.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/families/encoder_decoder_config.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/generate/settings.h"
#include "weft/models/hf/folder.h"
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
struct SequenceClassifier : ModelKind<SequenceClassifier<Config>> {
  Config config;
  Tokenizer tokenizer;
  std::vector<std::string> classes;
  GenerationSettings generation;  // provides the padding id and the special ids around texts

  /// Returns the layout of the model file.
  static const ModelLayout& file_layout();
  void check() const override;
};
using DecoderClassifier = SequenceClassifier<GptConfig>;
using EncoderDecoderClassifier = SequenceClassifier<EncoderDecoderConfig>;

/// Returns the classifier in a Hugging Face folder. Returns null if the folder contains no
/// classifier of this family, or if the classifier is a regression model. Throws the same
/// exceptions as Task::from_folder.
template <class Config>
std::unique_ptr<SequenceClassifier<Config>> sequence_classifier_of(const hf::Folder& folder,
                                                                   const FolderTokenizer& text);

/// Returns the `options.most` most likely classes for every text, in text order. Texts of similar
/// length are batched together. Throws TextError if a text cannot be encoded or has no tokens, or
/// if it is too long and options.on_cut is empty.
template <class Config>
std::vector<std::vector<ClassScore>> classify(Session& session,
                                              const SequenceClassifier<Config>& model,
                                              std::span<const std::string> texts,
                                              const ClassifyOptions& options = {});

}  // namespace weft

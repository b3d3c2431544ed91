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
#include "weft/models/tokenizers/folder.h"
#include "weft/models/tokenizers/tokenizer.h"
#include "weft/models/trained/model.h"

namespace WEFT_API weft {

/// A transformers class ...ForSequenceClassification with a decoder (GPT-2, LLaMA), whose head
/// reads the last token, or with an encoder-decoder (BART), whose head reads the last end-of-text
/// token. It has one program:
///   classify  Output "log_probabilities" [batch, classes]. Inputs "tokens" and, for
///             encoder-decoders, "mask", both i32 [batch, seq]. The batch size is 1 for decoders
///             without a padding id.
template <class Config>
struct SequenceClassifier : ModelKind<SequenceClassifier<Config>> {
  Config config;
  Tokenizer tokenizer;
  std::vector<std::string> classes;
  GenerationSettings generation;  // for the special ids around a text, and the padding id

  /// Returns the layout of the model file.
  static const ModelLayout& file_layout();
  void check() const override;
};
using DecoderClassifier = SequenceClassifier<GptConfig>;
using EncoderDecoderClassifier = SequenceClassifier<EncoderDecoderConfig>;

/// Returns the classifier in a Hugging Face folder. Returns null if the folder holds no classifier
/// of this family, or one for regression. Throws the same exceptions as Task::from_folder.
template <class Config>
std::unique_ptr<SequenceClassifier<Config>> sequence_classifier_of(const hf::Folder& folder,
                                                                   const FolderTokenizer& text);

/// Returns the options.most most likely classes of every text, in the order of the texts. Texts of
/// similar length share a batch. Throws TextError for a text that cannot be encoded or has no
/// tokens, and for a text that is too long if options.on_cut is empty.
template <class Config>
std::vector<std::vector<ClassScore>> classify(Session& session,
                                              const SequenceClassifier<Config>& model,
                                              std::span<const std::string> texts,
                                              const ClassifyOptions& options = {});

}  // namespace weft

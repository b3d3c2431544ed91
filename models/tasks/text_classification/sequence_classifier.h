// Classes of texts by decoders and encoder-decoders, as folders of Hugging Face's library have
// them.
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

/// The library's ...ForSequenceClassification over a decoder (GPT-2's, LLaMA's: scores of the last
/// token) or an encoder-decoder (BART's: of the last end). One program:
///   classify  "log_probabilities" [batch, classes] of "tokens" and, of encoder-decoders, "mask",
///             both i32 [batch, seq]. A decoder that knows no padding reads one row.
template <class Config>
struct SequenceClassifier : ModelKind<SequenceClassifier<Config>> {
  Config config;
  Tokenizer tokenizer;
  std::vector<std::string> classes;
  GenerationSettings generation;  // says what stands around a text, and what fills up rows

  static const ModelLayout& file_layout();
  void check() const override;
};
using DecoderClassifier = SequenceClassifier<GptConfig>;
using EncoderDecoderClassifier = SequenceClassifier<EncoderDecoderConfig>;

/// The classifier in a folder. Null where it holds none of this family, or one whose output is no
/// class (regression). Throws as Task::from_folder.
template <class Config>
std::unique_ptr<SequenceClassifier<Config>> sequence_classifier_of(const hf::Folder& folder,
                                                                   const FolderTokenizer& text);

/// The likeliest classes of texts, in their order; those of like length are computed together.
/// Throws TextError for a text that cannot be read, of which nothing is left, or that is too long
/// where nobody listens.
template <class Config>
std::vector<std::vector<ClassScore>> classify(Session& session,
                                              const SequenceClassifier<Config>& model,
                                              std::span<const std::string> texts,
                                              const ClassifyOptions& options = {});

}  // namespace weft

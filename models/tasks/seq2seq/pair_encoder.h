// Encodes text pairs as an encoder-decoder reads them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/models/tasks/seq2seq/languages.h"
#include "weft/models/tasks/seq2seq/seq2seq_model.h"

namespace WEFT_API weft {

/// Encodes sources and targets. Models trained by Weft read ids followed by the end id.
/// Multilingual models read the special ids of their tokenizer: sources have the code of the source
/// language, and targets have the code of the target language in the same place, as in Hugging Face
/// transformers. All functions throw the same exceptions as Tokenizer::encode.
class PairEncoder {
 public:
  /// The model must outlive the encoder.
  explicit PairEncoder(const Seq2SeqModel& model);

  std::vector<std::int32_t> source(std::string_view text) const;
  std::vector<std::int32_t> target(std::string_view text) const;
  /// Truncates a source; its last special ids are kept. Returns false if it is not longer than
  /// `longest`.
  bool cut_source(std::vector<std::int32_t>& ids, std::int64_t longest) const;
  /// Truncates a target. Its end id is dropped, because training on it would make outputs end too
  /// early; a language code after it is kept.
  bool cut_target(std::vector<std::int32_t>& ids, std::int64_t longest) const;

 private:
  const Seq2SeqModel& model_;
  Tokenizer targets_;
  LanguageIds languages_;     // of multilingual models
  std::int64_t target_ = -1;  // the language of outputs
};

/// A multilingual model that is fine-tuned for one pair of languages.
struct LanguagePair {
  Tokenizer tokenizer;
  GenerationSettings generation;
};
/// Returns the tokenizer and the settings of a multilingual model for the given languages: texts
/// have the code of the source language, and outputs begin with the code of the target language.
/// Throws ArgumentError if a language is missing or unknown, or if the model has no language codes
/// around texts.
LanguagePair set_languages(const Tokenizer& tokenizer, GenerationSettings generation,
                           const Languages& languages);

}  // namespace weft

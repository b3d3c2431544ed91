// Text generation with encoder-decoders, which produce an output for every text.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/generate/seq2seq.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/tasks/seq2seq/languages.h"
#include "weft/models/tasks/seq2seq/seq2seq_model.h"

namespace WEFT_API weft {

/// A text generator for encoder-decoders, with optional source and target languages. The target
/// code follows the start id (mBART-50, NLLB, M2M100) or replaces it (mBART, in which the source
/// code follows the text). For models from folders, the model's settings apply. If they specify no
/// length, and for models trained by Weft, the length of outputs is limited to about twice the
/// length of the input text.
class Seq2SeqWriter final : public TextGenerator {
 public:
  /// The session and the model must outlive the writer. The session must run the model's graph with
  /// its store. Throws ArgumentError if the tokenizer does not support a language.
  Seq2SeqWriter(Session& session, const Seq2SeqModel& model, const Languages& languages = {});

  bool continues() const override { return false; }
  std::int64_t context() const override;
  TokenIds read(std::string_view text) const override;
  TokenIds read_output(std::string_view text) const override;
  GenerationOptions options() const override;
  Generation decode(const std::vector<TokenIds>& prompts,
                    const GenerationOptions& options) override {
    return generator_.generate(prompts, options);
  }
  std::vector<ContinuationScore> score(const std::vector<TokenIds>& prompts,
                                       const std::vector<TokenIds>& continuations,
                                       const TokenIds& start) override;

 private:
  void set_default_length(const TokenIds& prompt, GenerationOptions& options) const override;
  TokenIds encode(const Tokenizer& tokenizer, const std::string& text) const;
  /// Returns the first ids of outputs, or an empty list if they are not specified.
  TokenIds start() const;

  Session& session_;
  const Seq2SeqModel& model_;
  Seq2SeqGenerator generator_;
  LanguageIds languages_;
  std::string language_prefix_;  // for example "translate English to German: "
  /// Position of the target language id in outputs: none, as the start id, or after the start id.
  enum class Target { none, start, after_start } target_ = Target::none;
};

}  // namespace weft

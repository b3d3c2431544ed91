// Text generation with encoder-decoders: an output for every text.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/tasks/seq2seq/languages.h"
#include "weft/models/tasks/seq2seq/seq2seq_model.h"

namespace WEFT_API weft {

/// A text generator for an encoder-decoder, with optional source and target languages. The place of
/// the target code depends on that of the source code. If the source code follows texts (mBART),
/// outputs begin with the target code instead of the usual start id. If it precedes them
/// (mBART-50), the target code follows the start id. A model from a folder follows its settings. If
/// these specify no length, and for models that Weft trained, outputs have up to about twice as
/// many tokens as their text.
class Seq2SeqWriter final : public TextGenerator {
 public:
  /// Session and model must outlive the writer. The session must run the graph of the model with
  /// its store. Throws ArgumentError for languages that the tokenizer does not have.
  Seq2SeqWriter(Session& session, const Seq2SeqModel& model, const Languages& languages = {});

  bool has_tokenizer() const override;
  const Tokenizer& tokenizer() const override;
  const GenerationSettings* settings() const override;
  bool continues() const override { return false; }
  std::int64_t context() const override;
  TokenIds read(std::string_view text) const override;
  TokenIds read_output(std::string_view text) const override;
  GenerationOptions usual(const TokenIds& prompt) const override;
  TokenIds start() const override;
  SearchResult generate(const std::vector<TokenIds>& prompts, const TokenIds& start,
                        const GenerationOptions& options, const OnToken& on_token) override;
  std::vector<ContinuationScore> score(const std::vector<TokenIds>& prompts,
                                       const std::vector<TokenIds>& continuations,
                                       const TokenIds& start) override;

 private:
  TokenIds encode(const Tokenizer& tokenizer, const std::string& text) const;

  Session& session_;
  const Seq2SeqModel& model_;
  LanguageIds languages_;
  std::string language_prefix_;  // "translate English to German: "
  /// Place of the target language id in outputs: none, as the start id, or after it.
  enum class Target { none, start, after_start } target_ = Target::none;
};

}  // namespace weft

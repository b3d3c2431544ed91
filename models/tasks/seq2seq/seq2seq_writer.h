// Text from encoder-decoders: what they answer to a text.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/tasks/seq2seq/languages.h"
#include "weft/models/tasks/seq2seq/seq2seq_model.h"

namespace WEFT_API weft {

/// An encoder-decoder over a session, perhaps told the languages of texts. Where the target stands
/// is seen from where a source does: behind texts (mBART), outputs begin with the target instead of
/// the usual start; in front of them (mBART-50), the target comes behind that. One of a folder does
/// what its settings say; where these state no length, and of models that Weft trained, outputs
/// have up to twice their text's tokens and some.
class Seq2SeqWriter final : public TextGenerator {
 public:
  /// Session and model must outlive the writer; the session is one over the model's graph and
  /// store. Throws ArgumentError for languages that the tokenizer does not know.
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
  /// Where the id of the target language stands: nowhere, as the start, or behind it.
  enum class Target { none, start, behind } target_ = Target::none;
};

}  // namespace weft

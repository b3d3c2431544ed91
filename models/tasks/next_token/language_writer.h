// Text generation with language models, which continue prompts.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/generate/generator.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/tasks/next_token/language_model.h"

namespace WEFT_API weft {

/// A text generator for language models. By default, models trained by Weft sample 500 tokens with
/// a sliding window. For models from folders, the model's settings apply; if they specify no
/// length, up to 500 tokens are generated within the context. Ids that do not decode to text are
/// never generated.
class LanguageWriter final : public TextGenerator {
 public:
  static constexpr std::int64_t kDefaultTokens = 500;

  /// The session and the model must outlive the writer. The session must run the model's graph with
  /// its store.
  LanguageWriter(Session& session, const LanguageModel& model);

  const ChatFormat* chat_format() const override;
  bool continues() const override { return true; }
  std::int64_t context() const override { return trained_context(model_.config); }
  TokenIds read(std::string_view text) const override;
  TokenIds encode_continuation(std::string_view text) const override;
  GenerationOptions options() const override;
  Generation decode(const std::vector<TokenIds>& prompts,
                    const GenerationOptions& options) override {
    return generator_.generate(prompts, options);
  }
  std::int64_t reused() const override { return generator_.reused(); }
  std::vector<ContinuationScore> score(const std::vector<TokenIds>& prompts,
                                       const std::vector<TokenIds>& continuations,
                                       const TokenIds& start) override;
  std::vector<ContinuationScore> score_cached(const std::vector<TokenIds>& prompts,
                                              const std::vector<TokenIds>& continuations) override {
    return generator_.score(prompts, continuations);
  }

 private:
  void set_default_length(const TokenIds&, GenerationOptions& options) const override {
    options.max_new = kDefaultTokens;
  }

  Session& session_;
  const LanguageModel& model_;
  Generator generator_;
};

}  // namespace weft

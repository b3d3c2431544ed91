#include "weft/models/tasks/next_token/language_writer.h"

#include "weft/core/error.h"
#include "weft/models/generate/logits_rules.h"
#include "weft/models/tasks/common/folder_settings.h"

namespace weft {

LanguageWriter::LanguageWriter(Session& session, const LanguageModel& model)
    : session_(session),
      model_(model),
      generator_(session, model.program("decode"), model.config) {}

const Tokenizer& LanguageWriter::tokenizer() const {
  if (!model_.no_tokenizer.empty()) throw FormatError(model_.no_tokenizer);
  return model_.tokenizer;
}

TokenIds LanguageWriter::read(std::string_view text) const {
  TokenIds ids;
  if (model_.generation) {
    ids = read_prompt(tokenizer(), *model_.generation, text);
  } else {
    const auto encoded = tokenizer().encode(text);
    ids.assign(encoded.begin(), encoded.end());
  }
  if (ids.empty()) throw ArgumentError("the prompt is empty: a first token is needed to go on");
  return ids;
}

GenerationOptions LanguageWriter::usual(const TokenIds& prompt) const {
  GenerationOptions options{.max_new = kUsualTokens, .sampling = SamplingOptions{}, .slide = true};
  if (model_.generation) {
    options = model_.generation->options;
    if (!model_.generation->states_length) options.max_new = kUsualTokens;
    if (!options.slide && length_rules(options, std::ssize(prompt)).max > context()) {
      options.max_new = -1;
      options.max_length = context();
    }
  }
  if (!model_.no_tokenizer.empty()) return options;
  const TokenIds wordless = ids_without_text(model_);
  options.forbidden.insert(options.forbidden.end(), wordless.begin(), wordless.end());
  return options;
}

SearchResult LanguageWriter::generate(const std::vector<TokenIds>& prompts, const TokenIds&,
                                      const GenerationOptions& options, const OnToken& on_token) {
  if (keeps_ && prompts.size() == 1 && rows_per_prompt(options) == 1)
    return generator_.go_on(prompts.front(), options, on_token);
  return generator_.generate(prompts, options, on_token);
}

std::vector<ContinuationScore> LanguageWriter::score(const std::vector<TokenIds>& prompts,
                                                     const std::vector<TokenIds>& continuations,
                                                     const TokenIds&) {
  if (!model_.has_program("score")) {
    throw FormatError(
        "the model's file was written before there was scoring: weft train --resume writes it "
        "anew");
  }
  return weft::score(session_, model_.program("score"), model_.config, prompts, continuations);
}

}  // namespace weft

#include "weft/models/tasks/next_token/language_writer.h"

#include "weft/core/error.h"
#include "weft/models/generate/logits_rules.h"
#include "weft/models/tasks/common/folder_settings.h"
#include "weft/models/text/unicode/repair.h"

namespace weft {

LanguageWriter::LanguageWriter(Session& session, const LanguageModel& model)
    : session_(session), model_(model), generator_(session, model.program("decode"), model.config) {
  share_with(session.options().world);
}

bool LanguageWriter::has_tokenizer() const { return model_.no_tokenizer.empty(); }

const GenerationSettings* LanguageWriter::settings() const {
  return model_.generation ? &*model_.generation : nullptr;
}

const ChatFormat* LanguageWriter::chat_format() const {
  return model_.chat ? &*model_.chat : nullptr;
}

const Tokenizer& LanguageWriter::tokenizer() const {
  if (!has_tokenizer()) throw FormatError(model_.no_tokenizer);
  return model_.tokenizer;
}

TokenIds LanguageWriter::read(std::string_view text) const {
  TokenIds ids;
  if (model_.generation) {
    ids = read_prompt(tokenizer(), *model_.generation, std::string(prefix()) + std::string(text));
  } else {
    const auto encoded = tokenizer().encode(text);
    ids.assign(encoded.begin(), encoded.end());
  }
  if (ids.empty())
    throw DataError("it is empty: generation needs at least one token to start from");
  return ids;
}

TokenIds LanguageWriter::encode_continuation(std::string_view text) const {
  require_utf8(text);
  const auto ids =
      model_.generation
          ? tokenizer().encode_text(text, {.add_special = false, .place = TextPlace::middle}).ids
          : tokenizer().encode(text, TextPlace::middle);
  return {ids.begin(), ids.end()};
}

GenerationOptions LanguageWriter::usual(const TokenIds& prompt) const {
  GenerationOptions options{
      .max_new = kDefaultTokens, .sampling = SamplingOptions{}, .slide = true};
  if (model_.generation) {
    options = default_options();
    if (!has_length_setting()) options.max_new = kDefaultTokens;
    if (!options.slide && length_rules(options, std::ssize(prompt)).max > context()) {
      options.max_new = -1;
      options.max_length = context();
    }
  }
  if (!has_tokenizer()) return options;
  const TokenIds wordless = ids_without_text(model_);
  options.bad_token_ids.insert(options.bad_token_ids.end(), wordless.begin(), wordless.end());
  return options;
}

SearchResult LanguageWriter::generate(const std::vector<TokenIds>& prompts, const TokenIds&,
                                      const GenerationOptions& options, const OnToken& on_token) {
  if (reuses_caches_ && prompts.size() == 1 && rows_per_prompt(options) == 1)
    return generator_.continue_text(prompts.front(), options, on_token);
  return generator_.generate(prompts, options, on_token);
}

std::vector<ContinuationScore> LanguageWriter::score(const std::vector<TokenIds>& prompts,
                                                     const std::vector<TokenIds>& continuations,
                                                     const TokenIds&) {
  if (!model_.has_program("score")) {
    throw FormatError(
        "the model file was written by an earlier version without scoring: weft train --resume "
        "updates it");
  }
  return weft::score(session_, model_.program("score"), model_.config, prompts, continuations);
}

}  // namespace weft

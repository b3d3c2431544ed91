#include "weft/models/tasks/next_token/language_writer.h"

#include "weft/core/error.h"
#include "weft/models/tasks/common/folder_settings.h"
#include "weft/models/text/unicode/repair.h"

namespace weft {

LanguageWriter::LanguageWriter(Session& session, const LanguageModel& model)
    : TextGenerator(model.tokenizer, model.no_tokenizer, model.generation, session.options().world),
      session_(session),
      model_(model),
      generator_(session, model.program("decode"), model.config) {}

const ChatFormat* LanguageWriter::chat_format() const {
  return model_.chat ? &*model_.chat : nullptr;
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

GenerationOptions LanguageWriter::options() const {
  GenerationOptions options{.max_length = 0, .sampling = SamplingOptions{}, .slide = true};
  if (settings() != nullptr) options = stored_options();
  if (!has_tokenizer()) return options;
  const TokenIds wordless = ids_without_text(model_);
  options.bad_token_ids.insert(options.bad_token_ids.end(), wordless.begin(), wordless.end());
  return options;
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

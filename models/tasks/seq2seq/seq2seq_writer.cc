#include "weft/models/tasks/seq2seq/seq2seq_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "weft/core/error.h"
#include "weft/core/rounding.h"
#include "weft/models/tasks/common/folder_settings.h"

namespace weft {
namespace {

/// Returns true for T5 and mT5, whose task (including the languages) is specified in words.
bool reads_prefixes(const Seq2SeqModel& model) {
  return model.generation && model.config.positions == Seq2SeqPositions::relative_bias;
}

}  // namespace

Seq2SeqWriter::Seq2SeqWriter(Session& session, const Seq2SeqModel& model,
                             const Languages& languages)
    : TextGenerator(model.tokenizer, model.no_tokenizer, model.generation, session.options().world),
      session_(session),
      model_(model),
      generator_(session, model.decoding()) {
  if (languages.source.empty() && languages.target.empty()) return;
  if (reads_prefixes(model) && language_codes(tokenizer()).empty()) {
    const LanguagePrefix found = language_prefix(*model.generation, languages);
    if (found.task.empty()) {
      language_prefix_ = found.prefix;
    } else {
      set_task(found.task);
    }
    return;
  }
  languages_ = language_ids(tokenizer(), languages);
  if (languages_.target < 0) return;
  target_ = target_starts_outputs(languages_, read("a")) ? Target::start : Target::after_start;
}

TokenIds Seq2SeqWriter::start() const {
  if (target_ == Target::start) return {languages_.target};
  if (!model_.generation) return {model_.config.start_id};
  if (task() != nullptr && !task()->start.empty()) return task()->start;
  if (!model_.generation->start.empty()) return model_.generation->start;
  // Without decoder_start_token_id, outputs begin with bos_token_id (T5Gemma), as in transformers.
  const std::int64_t first = model_.generation->bos_id.value_or(-1);
  return first >= 0 ? TokenIds{first} : TokenIds{};
}

std::int64_t Seq2SeqWriter::context() const {
  const Seq2SeqPositions positions = model_.config.positions;
  // Models with sinusoidal or rotary positions accept any length if Weft trained them; folders
  // specify the length that the model was trained with.
  const bool bounded = positions == Seq2SeqPositions::learned ||
                       (positions != Seq2SeqPositions::relative_bias && model_.generation);
  return bounded ? model_.config.context : std::numeric_limits<std::int64_t>::max();
}

TokenIds Seq2SeqWriter::encode(const Tokenizer& tokenizer, const std::string& text) const {
  TokenIds ids;
  if (model_.generation) {
    ids = read_prompt(tokenizer, *model_.generation, text);
  } else {
    const auto encoded = tokenizer.encode_to_end(text);
    ids.assign(encoded.begin(), encoded.end());
  }
  if (ids.empty()) throw DataError("it is empty: there is nothing to encode");
  return ids;
}

TokenIds Seq2SeqWriter::read(std::string_view text) const {
  TokenIds ids = encode(
      tokenizer(), fmt::format("{}{}{}{}", languages_.in_text, prefix(), language_prefix_, text));
  languages_.set_source_language(ids);
  return ids;
}

TokenIds Seq2SeqWriter::read_output(std::string_view text) const {
  return encode(tokenizer().targets(), std::string(text));
}

GenerationOptions Seq2SeqWriter::options() const {
  GenerationOptions options;
  if (settings() != nullptr) {
    options = stored_options();
  } else {
    const std::int32_t padding = tokenizer().pad_id();
    options = {.max_length = 0,
               .eos_id = tokenizer().eos_id(),
               .pad_id = padding,
               .suppressed = {padding}};
  }
  for (const std::int64_t id : model_.ids_without_text()) options.bad_token_ids.push_back(id);
  if (target_ == Target::after_start) options.forced_bos_id = languages_.target;
  options.start = start();
  return options;
}

void Seq2SeqWriter::set_default_length(const TokenIds& prompt, GenerationOptions& options) const {
  constexpr std::int64_t kStep = 8;
  options.max_length = 2 * round_up(std::ssize(prompt), kStep) + kStep;
}

std::vector<ContinuationScore> Seq2SeqWriter::score(const std::vector<TokenIds>& prompts,
                                                    const std::vector<TokenIds>& continuations,
                                                    const TokenIds& start) {
  if (!model_.has_program("score")) {
    throw FormatError(
        "the model file was written by an earlier version without scoring: weft train --resume "
        "updates it");
  }
  return weft::score(session_, model_.program("score"), start, prompts, continuations);
}

}  // namespace weft
